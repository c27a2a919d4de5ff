//go:build !race

package echo5limit_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/httplimit/httplimit"
	echo5limit "github.com/httplimit/httplimit/adapters/echo5"
	"github.com/httplimit/httplimit/limiter"
	"github.com/labstack/echo/v5"
)

// discard keeps its header from answer to answer.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(int)             {}

// request serves one request with an empty answer.
func request(e *echo.Echo) func() {
	w, r := &discard{http.Header{}}, httptest.NewRequest(http.MethodGet, "/", nil)
	return func() {
		clear(w.header)
		e.ServeHTTP(w, r)
	}
}

func echos(tb testing.TB) (bare, limited *echo.Echo) {
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerMinute(1e9)},
	}})
	if err != nil {
		tb.Fatal(err)
	}
	answer := func(c *echo.Context) error { return c.NoContent(http.StatusNoContent) }
	bare, limited = echo.New(), echo.New()
	bare.GET("/", answer)
	limited.GET("/", answer, echo5limit.New(m))
	return bare, limited
}

// Echo makes all middleware anew for each request.
func TestAllocations(t *testing.T) {
	bare, limited := echos(t)
	base, got := testing.AllocsPerRun(1000, request(bare)), testing.AllocsPerRun(1000, request(limited))
	if got-base > 1 {
		t.Errorf("the limiter allocates %v times a request, want at most 1", got-base)
	}
}

func BenchmarkEcho(b *testing.B) {
	bare, limited := echos(b)
	for name, e := range map[string]*echo.Echo{"limit=no": bare, "limit=yes": limited} {
		b.Run(name, func(b *testing.B) {
			serve := request(e)
			b.ReportAllocs()
			for b.Loop() {
				serve()
			}
		})
	}
}
