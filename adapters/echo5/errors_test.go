package echo5limit_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/httplimit/httplimit"
	echo5limit "github.com/httplimit/httplimit/adapters/echo5"
	"github.com/labstack/echo/v5"
	"github.com/labstack/echo/v5/middleware"
)

var errPassword = errors.New("wrong password")

// statuses is a rule that notes what it is settled with.
func statuses(into *[]int) httplimit.Rule {
	return httplimit.Rule{Name: "r", CountStatus: func(s int) bool { *into = append(*into, s); return true }}
}

// TestErrorsSettleAsWhatTheyBecome, whoever answers them, and are answered once.
func TestErrorsSettleAsWhatTheyBecome(t *testing.T) {
	mapping := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			if err := next(c); errors.Is(err, errPassword) {
				return echo.ErrUnauthorized
			}
			return nil
		}
	}
	logging := middleware.RequestLoggerWithConfig(middleware.RequestLoggerConfig{
		HandleError: true, LogValuesFunc: func(*echo.Context, middleware.RequestLoggerValues) error { return nil },
	})
	answering := func(status int) echo.HTTPErrorHandler {
		return func(c *echo.Context, _ error) {
			if !committed(c) {
				_ = c.NoContent(status)
			}
		}
	}
	tests := map[string]struct {
		around  []echo.MiddlewareFunc
		within  []echo.MiddlewareFunc
		handler echo.HTTPErrorHandler // nil: Echo's own
		want    int                   // both the answer and what the rule is told
		asked   int
	}{
		"by Echo's own handler": {want: 500, asked: 1},
		"by the app's handler":  {handler: answering(401), want: 401, asked: 1},
		"as no failure":         {handler: answering(302), want: 302, asked: 1},
		"by middleware around":  {around: []echo.MiddlewareFunc{mapping}, want: 401, asked: 1},
		"by middleware within":  {within: []echo.MiddlewareFunc{mapping}, want: 401, asked: 1},
		"by a logger around": {
			around:  []echo.MiddlewareFunc{logging},
			handler: answering(401),
			want:    401,
			asked:   1,
		},
		"by a logger within": {
			within:  []echo.MiddlewareFunc{logging},
			handler: answering(401),
			want:    401,
			asked:   1,
		},
		"by nobody, which the client sees as 200": {handler: func(*echo.Context, error) {}, want: 200},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var settled []int
			answered := 0
			e := newEcho()
			own := e.HTTPErrorHandler
			if tt.handler != nil {
				own = tt.handler
			}
			e.HTTPErrorHandler = func(c *echo.Context, err error) {
				if !committed(c) {
					answered++
				}
				own(c, err)
			}
			limits := echo5limit.New(limit(t, nil, statuses(&settled)))
			layers := slices.Concat(tt.around, []echo.MiddlewareFunc{limits, limits}, tt.within)
			e.GET("/", func(*echo.Context) error { return errPassword }, layers...)
			a := get(t, serve(t, e))
			var want []int
			for range 2 * tt.asked { // the two layers of the limiter
				want = append(want, tt.want)
			}
			if a.StatusCode != tt.want || !slices.Equal(settled, want) || answered != 1 {
				t.Errorf("got %s, settled with %v, answered %d times, want %d, %v and once",
					a.Status, settled, answered, tt.want, want)
			}
		})
	}
}

func committed(c *echo.Context) bool {
	answer, err := echo.UnwrapResponse(c.Response())
	return err == nil && answer.Committed
}

// TestErrorsReachMiddlewareAround, unchanged: reports and transactions depend on them.
func TestErrorsReachMiddlewareAround(t *testing.T) {
	var settled []int
	var seen error
	e := newEcho()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error { seen = next(c); return seen }
	}, echo5limit.New(limit(t, nil, statuses(&settled))))
	e.GET("/", func(*echo.Context) error { return errPassword })
	if a := get(t, serve(t, e)); a.StatusCode != http.StatusInternalServerError || seen != errPassword {
		t.Errorf("got %s, and middleware around saw %v, want 500 and the handler's error", a.Status, seen)
	}
}
