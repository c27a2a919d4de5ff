package frameworks_test

import (
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/httplimit/httplimit"
	ginlimit "github.com/httplimit/httplimit/adapters/gin"
)

// serveGin leaves Gin as it is by default, trusting everybody's X-Forwarded-For.
func serveGin(t *testing.T, at net.Listener, a app) {
	gin.SetMode(gin.TestMode)
	engine := gin.New()
	engine.Use(
		func(c *gin.Context) {
			defer a.left()
			c.Request = c.Request.WithContext(a.enter(c.Request.Context()))
			c.Next()
		},
		a.answerErrors,
		gin.CustomRecoveryWithWriter(io.Discard,
			func(c *gin.Context, _ any) { c.AbortWithStatus(http.StatusInternalServerError) }),
	)
	engine.Use(a.gin(a.around)...)
	engine.Any("/items/:id", append(a.gin(a.onRoute), func(c *gin.Context) {
		writeGin(c, a.item(c.Request.Context(), c.Param("id")))
	})...)
	engine.Any("/open", gin.WrapF(open))
	engine.Any("/quota", func(c *gin.Context) { writeGin(c, a.quota(ginlimit.Request(c))) })
	engine.Any("/events", func(c *gin.Context) { a.sendEvents(c.Writer, c.Request) })
	engine.Any("/ws", func(c *gin.Context) { sendBack(c.Writer, c.Request) })
	engine.Any("/download", gin.WrapH(a.large()))
	a.serveHandler(t, at, engine)
}

func (a app) gin(ms []*httplimit.Middleware) []gin.HandlerFunc {
	var cfg ginlimit.Config
	if a.deny {
		cfg.OnDeny = func(c *gin.Context, d httplimit.Denial) { c.String(d.Status, denied(d)) }
	}
	handlers := make([]gin.HandlerFunc, len(ms))
	for i, m := range ms {
		handlers[i] = ginlimit.New(m, cfg)
	}
	return handlers
}

// answerErrors is what apps have that answer c.Error in one place.
func (a app) answerErrors(c *gin.Context) {
	c.Next()
	if len(c.Errors) > 0 && !c.Writer.Written() {
		c.String(a.errors(), "sorry")
	}
}

func writeGin(c *gin.Context, y reply) {
	switch {
	case y.err != nil && y.status == 0:
		_ = c.Error(y.err)
	case y.err != nil:
		_ = c.AbortWithError(y.status, y.err)
	case y.body == "" && y.status != 0:
		c.Status(y.status)
	case y.status != 0:
		c.String(y.status, y.body)
	}
}
