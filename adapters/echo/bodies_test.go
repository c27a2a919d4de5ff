package echolimit_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/httplimit/httplimit"
	echolimit "github.com/httplimit/httplimit/adapters/echo"
	"github.com/httplimit/httplimit/limiter"
	"github.com/labstack/echo/v4"
)

// TestHandlersFindTheBodyThatAKeyHasRead: however a KeyFunc reads it.
func TestHandlersFindTheBodyThatAKeyHasRead(t *testing.T) {
	for name, read := range map[string]func(*http.Request) string{
		"the request's form": func(r *http.Request) string { return r.PostFormValue("name") },
		"a body put back": func(r *http.Request) string {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			return string(body)
		},
		"Echo's form": func(r *http.Request) string { c, _ := echolimit.From(r); return c.FormValue("name") },
		"a body put back into Echo's request": func(r *http.Request) string {
			c, _ := echolimit.From(r)
			body, _ := io.ReadAll(c.Request().Body)
			c.Request().Body = io.NopCloser(strings.NewReader(string(body)))
			return string(body)
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, found := newEcho(), ""
			m := limit(t, nil, httplimit.Rule{Name: "login", Limit: limiter.PerDay(5),
				Key: httplimit.KeyFunc(func(r *http.Request) (string, error) { found = read(r); return found, nil })})
			e.POST("/login", func(c echo.Context) error {
				return c.String(http.StatusOK, c.FormValue("name"))
			}, echolimit.New(m))
			r := httptest.NewRequest(http.MethodPost, "/login", strings.NewReader("name=ann"))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			answer := httptest.NewRecorder()
			e.ServeHTTP(answer, r)
			if got := answer.Body.String(); got != "ann" || !strings.Contains(found, "ann") {
				t.Errorf("the key found %q and the handler %q, want ann for both", found, got)
			}
		})
	}
}
