package echo5limit

import (
	"log/slog"
	"net/http"

	"github.com/httplimit/httplimit"
	"github.com/labstack/echo/v5"
)

// Refusal is the error that a refused request ends in. Echo's own HTTPErrorHandler makes the problem document of it,
// and one of the app's finds it with [errors.As], or an [*echo.HTTPError] with the same status.
type Refusal struct {
	// Denial tells what was refused, and for how long.
	Denial httplimit.Denial

	header http.Header // of the answer
}

// Error returns a line for people. It names no Private rule.
func (r *Refusal) Error() string { return r.Denial.String() }

// StatusCode makes a Refusal an [echo.HTTPStatusCoder].
func (r *Refusal) StatusCode() int { return r.Denial.Status }

// MarshalJSON returns the problem document, and labels the answer as one: Echo's own HTTPErrorHandler marshals errors
// that can be marshalled, as application/json.
func (r *Refusal) MarshalJSON() ([]byte, error) {
	if r.header != nil {
		r.header.Set(echo.HeaderContentType, "application/problem+json")
	}
	return r.Denial.MarshalJSON()
}

// LogValue makes the group of [httplimit.Denial.LogValue].
func (r *Refusal) LogValue() slog.Value { return r.Denial.LogValue() }

// Unwrap returns an [*echo.HTTPError], for handlers that know only those.
func (r *Refusal) Unwrap() error {
	return echo.NewHTTPError(r.Denial.Status, http.StatusText(r.Denial.Status))
}

func refuse(c *echo.Context, d httplimit.Denial) error {
	return &Refusal{d, c.Response().Header()}
}

func deny(c *echo.Context, o *httplimit.Outcome, onDeny func(*echo.Context, httplimit.Denial) error) error {
	defer o.Release()
	d, _ := o.Denied()
	if onDeny != nil {
		return onDeny(c, d)
	}
	o.CloseUnread(c.Response().Header(), c.Request())
	return refuse(c, d)
}
