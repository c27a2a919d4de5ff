package ginlimit

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
)

// Request returns the request of c as rules see it: [From] finds c in it, and its Pattern is c.FullPath(), which is
// [httplimit.Route]. It is for a handler that calls [httplimit.Middleware.PeekRequest] or [httplimit.ClientAddr]:
//
//	verdicts, err := m.PeekRequest(ginlimit.Request(c))
//
// It must not be kept.
func Request(c *gin.Context) *http.Request {
	r := c.Request.WithContext(context.WithValue(c.Request.Context(), contextKey{}, c))
	r.Pattern = c.FullPath()
	return r
}
