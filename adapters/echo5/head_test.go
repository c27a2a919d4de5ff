package echo5limit_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	echo5limit "github.com/httplimit/httplimit/adapters/echo5"
	"github.com/labstack/echo/v5"
)

// TestHEADByGETSettlesAsWhatIsSent: Echo has a handler for GET answer HEAD, and keeps the status until it has returned.
func TestHEADByGETSettlesAsWhatIsSent(t *testing.T) {
	tests := map[string]struct {
		handler echo.HandlerFunc
		sent    int
		settled int
	}{
		"a body":           {hello, 200, 200},
		"a status":         {func(c *echo.Context) error { return c.NoContent(404) }, 404, 404},
		"an error":         {func(*echo.Context) error { return echo.ErrForbidden }, 403, 403},
		"nothing":          {func(*echo.Context) error { return nil }, 200, 200},
		"an error, after":  {func(c *echo.Context) error { _ = c.NoContent(404); return errors.New("no") }, 404, 404},
		"a panic":          {func(*echo.Context) error { panic("no") }, 500, 500},
		"net/http's error": {echo.WrapHandler(http.NotFoundHandler()), 404, 404},
	}
	for name, tt := range tests {
		for _, place := range []string{"route", "app"} {
			t.Run(name+" on the "+place, func(t *testing.T) {
				var settled []int
				e := newEchoWith(echo.Config{Router: echo.NewRouter(echo.RouterConfig{AutoHandleHEAD: true})})
				layer := echo5limit.New(limit(t, nil, statuses(&settled)))
				if place == "app" {
					e.Use(layer)
					e.GET("/", tt.handler)
				} else {
					e.GET("/", tt.handler, layer)
				}
				a := send(t, http.MethodHead, serve(t, e), nil)
				if a.StatusCode != tt.sent || !slices.Equal(settled, []int{tt.settled}) {
					t.Errorf("got %s, settled with %v, want %d and %d once", a.Status, settled, tt.sent, tt.settled)
				}
			})
		}
	}
}

// opaque is a writer that does not lead to Echo's own.
type opaque struct{ inner http.ResponseWriter }

func (o opaque) Header() http.Header         { return o.inner.Header() }
func (o opaque) Write(b []byte) (int, error) { return o.inner.Write(b) }
func (o opaque) WriteHeader(status int)      { o.inner.WriteHeader(status) }

// TestWriterThatCannotBeUnwrapped: the status is seen all the same.
func TestWriterThatCannotBeUnwrapped(t *testing.T) {
	for name, tt := range map[string]struct {
		handler echo.HandlerFunc
		want    int
	}{
		"an answer": {func(c *echo.Context) error { return c.NoContent(404) }, 404},
		"an error":  {func(*echo.Context) error { return echo.ErrForbidden }, 403},
		"nothing":   {func(*echo.Context) error { return nil }, 200},
	} {
		t.Run(name, func(t *testing.T) {
			var settled []int
			e := newEcho()
			e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
				return func(c *echo.Context) error { c.SetResponse(opaque{c.Response()}); return next(c) }
			}, echo5limit.New(limit(t, nil, statuses(&settled))))
			e.GET("/", tt.handler)
			a := get(t, serve(t, e))
			if a.StatusCode != tt.want || !slices.Equal(settled, []int{tt.want}) {
				t.Errorf("got %s, settled with %v, want %d for both", a.Status, settled, tt.want)
			}
		})
	}
}
