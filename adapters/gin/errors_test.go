package ginlimit_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/httplimit/httplimit"
	ginlimit "github.com/httplimit/httplimit/adapters/gin"
)

// TestErrorsSettleAsWhatTheyBecome, whoever answers them. Where Gin writes in the end what was only set, the request
// counts without a question.
func TestErrorsSettleAsWhatTheyBecome(t *testing.T) {
	answering := func(how func(c *gin.Context)) []gin.HandlerFunc {
		return []gin.HandlerFunc{func(c *gin.Context) {
			if c.Next(); len(c.Errors) > 0 && !c.Writer.Written() {
				how(c)
			}
		}}
	}
	wrong := errors.New("wrong password")
	left := func(c *gin.Context) { _ = c.Error(wrong) }
	twice := func(status int) []int { return []int{status, status} } // by the two layers of the limiter
	tests := map[string]struct {
		around, within []gin.HandlerFunc
		handler        gin.HandlerFunc
		want           int
		settled        []int
	}{
		"around, as JSON": {
			around:  answering(func(c *gin.Context) { c.JSON(401, gin.H{}) }),
			want:    401,
			settled: twice(401),
		},
		"around, as text": {
			around:  answering(func(c *gin.Context) { c.String(404, "no") }),
			want:    404,
			settled: twice(404),
		},
		"around, without body": {
			around:  answering(func(c *gin.Context) { c.AbortWithStatus(401) }),
			want:    401,
			settled: twice(401),
		},
		"around, as a redirect": {
			around:  answering(func(c *gin.Context) { c.Redirect(302, "/") }),
			want:    302,
			settled: twice(302),
		},
		"around, flushed": {around: answering(func(c *gin.Context) {
			c.Status(401)
			c.Writer.Flush()
		}), want: 401, settled: twice(401)},
		"around, after another status": {around: answering(func(c *gin.Context) {
			c.Status(500)
			c.JSON(401, gin.H{})
		}), want: 401, settled: twice(401)},
		"around, only set": {around: answering(func(c *gin.Context) { c.Status(401) }), want: 401},
		"within": {
			within:  answering(func(c *gin.Context) { c.JSON(401, gin.H{}) }),
			want:    401,
			settled: twice(401),
		},
		"by the handler": {
			handler: func(c *gin.Context) { _ = c.AbortWithError(401, wrong) },
			want:    401,
			settled: twice(401),
		},
		"by nobody":              {want: 200},
		"of a layer around only": {around: []gin.HandlerFunc{left}, handler: hello, want: 200, settled: twice(200)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var settled []int
			limits := ginlimit.New(limit(t, nil, httplimit.Rule{Name: "r",
				CountStatus: func(s int) bool { settled = append(settled, s); return true }}))
			if tt.handler == nil {
				tt.handler = left
			}
			engine := newEngine()
			engine.GET("/", slices.Concat(tt.around, []gin.HandlerFunc{limits, limits}, tt.within,
				[]gin.HandlerFunc{tt.handler})...)
			client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			a, err := client.Get(serve(t, engine))
			if err != nil {
				t.Fatal(err)
			}
			a.Body.Close()
			if a.StatusCode != tt.want || !slices.Equal(settled, tt.settled) {
				t.Errorf("got %s, settled with %v, want %d and %v", a.Status, settled, tt.want, tt.settled)
			}
		})
	}
}
