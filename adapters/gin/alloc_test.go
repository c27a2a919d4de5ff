//go:build !race

package ginlimit_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/httplimit/httplimit"
	ginlimit "github.com/httplimit/httplimit/adapters/gin"
	"github.com/httplimit/httplimit/limiter"
)

// discard keeps its header from answer to answer.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(int)             {}

// request serves one request with an empty answer.
func request(engine *gin.Engine) func() {
	w, r := &discard{http.Header{}}, httptest.NewRequest(http.MethodGet, "/", nil)
	return func() {
		clear(w.header)
		engine.ServeHTTP(w, r)
	}
}

func engines(tb testing.TB) (bare, limited *gin.Engine) {
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerMinute(1e9)},
	}})
	if err != nil {
		tb.Fatal(err)
	}
	answer := func(c *gin.Context) { c.Status(http.StatusNoContent) }
	gin.SetMode(gin.TestMode)
	bare, limited = gin.New(), gin.New()
	bare.GET("/", answer)
	limited.GET("/", ginlimit.New(m), answer)
	return bare, limited
}

// Fields are made for many requests at once.
func TestAllocations(t *testing.T) {
	bare, limited := engines(t)
	base, got := testing.AllocsPerRun(1000, request(bare)), testing.AllocsPerRun(1000, request(limited))
	if got-base > 0 {
		t.Errorf("the limiter allocates %v times a request, want none", got-base)
	}
}

func BenchmarkGin(b *testing.B) {
	bare, limited := engines(b)
	for name, engine := range map[string]*gin.Engine{"limit=no": bare, "limit=yes": limited} {
		b.Run(name, func(b *testing.B) {
			serve := request(engine)
			b.ReportAllocs()
			for b.Loop() {
				serve()
			}
		})
	}
}
