package httplimit_test

import (
	"context"
	"net/http"
	"testing"
	"unsafe"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// foreign is a request of a framework that is not net/http.
type foreign struct{ httplimit.Request }

// A framework that reuses its buffers, as Fiber does, changes the strings that it has handed out.
func TestKeysOutliveTheBufferThatTheyCameFrom(t *testing.T) {
	buffer := []byte("alice")
	key := httplimit.KeyFunc(func(*http.Request) (string, error) {
		return unsafe.String(unsafe.SliceData(buffer), len(buffer)), nil
	})
	gives := func(o *httplimit.Outcome, _ context.Context) error { o.Settle(500); return nil }
	spends := func(o *httplimit.Outcome, ctx context.Context) error {
		o.Settle(200)
		return httplimit.Spend(ctx, "user", 3)
	}
	only200 := func(status int) bool { return status == 200 }
	tests := map[string]struct {
		count  func(status int) bool
		expose bool
		after  func(o *httplimit.Outcome, ctx context.Context) error
	}{
		"CountStatus":           {only200, false, gives},
		"Spend":                 {nil, true, spends},
		"CountStatus and Spend": {only200, true, spends},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			copy(buffer, "alice")
			store := &scripted{}
			m := mustNew(t, httplimit.Config{Store: store, Expose: tt.expose, Rules: []httplimit.Rule{
				{Name: "all", Key: httplimit.Everyone(), Limit: limiter.PerMinute(5)},
				{Name: "user", Key: key, Limit: limiter.PerMinute(5), CountStatus: tt.count},
			}})
			o := m.Check(foreign{httplimit.HTTPRequest(get())})
			ctx := o.Context()
			copy(buffer, "mallo")
			if err := tt.after(o, ctx); err != nil {
				t.Fatal(err)
			}
			asked := store.charges()
			if got := asked[len(asked)-1]; len(asked) != 3 || got.Key != "alice" {
				t.Errorf("%d charges, the last one for %q, want 3 and alice", len(asked), got.Key)
			}
		})
	}
}
