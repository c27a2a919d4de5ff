package ginlimit

import (
	"github.com/gin-gonic/gin"
	"github.com/httplimit/httplimit"
)

// Deny aborts a request and answers it as the middleware answers those that it refuses: for handlers that call
// [httplimit.Middleware.Allow], with the refusal that [httplimit.Verdict.Denied] makes, and for an OnDeny that answers
// only some requests in a way of its own. It sets the header fields that are missing.
func Deny(c *gin.Context, d httplimit.Denial) {
	c.Abort()
	d.ServeHTTP(c.Writer, c.Request)
}
