package echolimit

import (
	"net/http"

	"github.com/httplimit/httplimit"
	"github.com/labstack/echo/v4"
)

func deny(c echo.Context, o *httplimit.Outcome, onDeny func(echo.Context, httplimit.Denial) error) error {
	defer o.Release()
	d, _ := o.Denied()
	if onDeny != nil {
		return onDeny(c, d)
	}
	o.CloseUnread(c.Response().Header(), c.Request())
	return problemError(c, d)
}

// refusal is an error with two faces. An HTTPErrorHandler of the app sees the outer one, and no Content-Type that it
// did not choose. Echo's own takes the error in Internal instead where that is an HTTPError, and marshals it.
type refusal struct {
	outer, inner echo.HTTPError
	problem      problem
}

func problemError(c echo.Context, d httplimit.Denial) error {
	h := c.Response().Header()
	r := &refusal{problem: problem{d, h}}
	r.inner = echo.HTTPError{Code: d.Status, Message: &r.problem}
	r.outer = echo.HTTPError{Code: d.Status, Message: d, Internal: &r.inner}
	return &r.outer
}

// problem is a Denial that labels the answer when it is marshalled into it.
type problem struct {
	httplimit.Denial
	header http.Header
}

func (p *problem) MarshalJSON() ([]byte, error) {
	p.header.Set(echo.HeaderContentType, "application/problem+json")
	return p.Denial.MarshalJSON()
}

// String keeps the header out of the error's text, which is often logged.
func (p *problem) String() string { return http.StatusText(p.Status) }
