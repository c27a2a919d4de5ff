package httplimit_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// A StrictWindow in the fields of an answer: the window is that of the limit, not the parts that are counted; t tells
// when the whole quota is free, on a refusal when the request would pass.
func TestFieldsOfAStrictWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{{
			Name: "strict", Key: httplimit.ClientIP(),
			Limit: limiter.Limit{Requests: 2, Window: time.Minute, Algorithm: limiter.StrictWindow},
		}}})
		time.Sleep(9 * time.Second) // three seconds into a part of six
		for _, want := range []struct {
			after  time.Duration
			status int
			field  string
			retry  string
		}{
			{0, 200, `"strict";r=1;t=63`, ""},
			{20 * time.Second, 200, `"strict";r=0;t=61`, ""}, // in the part from second 24 to 30
			{10 * time.Second, 429, `"strict";r=0;t=33`, "33"},
			{33*time.Second - time.Millisecond, 429, `"strict";r=0;t=1`, "1"},
			{time.Millisecond, 200, `"strict";r=0;t=66`, ""},
		} {
			time.Sleep(want.after)
			w := serve(m, "192.0.2.7:1")
			if w.Code != want.status || w.Header().Get("RateLimit") != want.field ||
				w.Header().Get("RateLimit-Policy") != `"strict";q=2;w=60` || w.Header().Get("Retry-After") != want.retry {
				t.Errorf("%v later: %d, %v, want %d, RateLimit %s, Retry-After %q", want.after, w.Code, w.Header(), want.status,
					want.field, want.retry)
			}
		}
	})
}
