package httplimit_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// faulty is a store of a user's own, whose calls end as a test wants.
type faulty struct{ end func() }

func (s faulty) Take(context.Context, []limiter.Charge) (bool, error) { s.end(); return true, nil }
func (s faulty) Reset(context.Context, []limiter.Charge) error        { s.end(); return nil }

// A store that blocks or panics, in storekit.WithTimeout, is one that cannot decide: each rule's policy does.
func TestPolicyDecidesWhileAWrappedStoreDoesNot(t *testing.T) {
	stalled := make(chan struct{})
	defer close(stalled)
	for fault, end := range map[string]func(){
		"blocks": func() { <-stalled },
		"panics": func() { panic("no such row") },
	} {
		for _, tt := range []struct {
			policy httplimit.FailurePolicy
			want   []int
			wait   string // Retry-After of the last
		}{
			{httplimit.FailLocal, []int{200, 200, 429}, "43200"},
			{httplimit.FailOpen, []int{200, 200, 200}, ""},
			{httplimit.FailClosed, []int{503, 503, 503}, "1"},
		} {
			t.Run(fault+"/"+tt.policy.String(), func(t *testing.T) {
				m := mustNew(t, httplimit.Config{
					Store: storekit.WithTimeout(faulty{end}, time.Millisecond),
					Rules: []httplimit.Rule{{Name: "r", Key: httplimit.Everyone(), Failure: tt.policy,
						Limit: limiter.Limit{Requests: 2, Window: 24 * time.Hour, Algorithm: limiter.TokenBucket}}},
				})
				send := socket(t, m)
				for i, want := range tt.want {
					answer := send("", "")
					if answer.StatusCode != want {
						t.Errorf("request %d: got %d, want %d", i, answer.StatusCode, want)
					}
					if got := answer.Header.Get("Retry-After"); answer.StatusCode != http.StatusOK && got != tt.wait {
						t.Errorf("request %d: Retry-After: got %q, want %q", i, got, tt.wait)
					}
				}
				if got := m.Health(); len(got) != 1 || got[0].Err == nil {
					t.Errorf("Health: got %+v, want the rule with the store's error", got)
				}
			})
		}
	}
}
