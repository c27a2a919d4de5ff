package httplimit_test

import (
	"context"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// exposed is the context that the handler of one request is given.
func exposed(t *testing.T, m *httplimit.Middleware, ctx context.Context) context.Context {
	t.Helper()
	o := m.Check(httplimit.HTTPRequest(get().WithContext(ctx)))
	if d, denied := o.Denied(); denied {
		t.Fatalf("denied with %+v, want a request that passes", d)
	}
	ctx = o.Context()
	o.Settle(200)
	return ctx
}

func TestSpendIsAChargeOfItsOwn(t *testing.T) {
	store := &scripted{answer: func(c *limiter.Charge) {
		if c.Mode == limiter.Force {
			c.Decision = limiter.Decision{Allowed: true, Remaining: 2, ResetAfter: 40 * time.Second}
		}
	}}
	m := mustNew(t, httplimit.Config{Expose: true, Store: store, Rules: []httplimit.Rule{
		{Name: "other", Key: httplimit.Everyone(), Limit: limiter.PerDay(9)}, ip(limiter.PerDay(10)),
	}})
	ctx := exposed(t, m, t.Context())
	if err := httplimit.Spend(ctx, "ip", 3); err != nil {
		t.Fatal(err)
	}
	asked := store.charges()
	if len(asked) != 3 {
		t.Fatalf("the store was asked for %d charges, want 2 of the request and 1 of Spend", len(asked))
	}
	asked[2].Decision = limiter.Decision{} // what it says beforehand does not matter
	want := limiter.Charge{Scope: "/ip", Key: "192.0.2.1", Limit: limiter.PerDay(10), Cost: 3, Mode: limiter.Force}
	if asked[2] != want {
		t.Errorf("charge of Spend:\n got %+v\nwant %+v", asked[2], want)
	}
	other, spent := httplimit.Verdicts(ctx)[0], httplimit.Verdicts(ctx)[1]
	if spent.Cost != 4 || spent.Remaining != 2 || spent.ResetAfter != 40*time.Second {
		t.Errorf("verdict after Spend: got %+v, want a cost of 4, 2 remaining, reset after 40 s", spent)
	}
	if other.Cost != 1 || other.Remaining != 8 || other.ResetAfter != 0 {
		t.Errorf("verdict of the other rule: got %+v, want that of the request", other)
	}
}

func TestSpendGoesOnWhenTheClientHasLeft(t *testing.T) {
	store := &scripted{}
	m := mustNew(t, httplimit.Config{Expose: true, Store: store, Rules: []httplimit.Rule{ip(limiter.PerDay(10))}})
	ctx, leave := context.WithCancel(t.Context())
	ctx = exposed(t, m, ctx)
	leave()
	if err := httplimit.Spend(ctx, "ip", 3); err != nil {
		t.Errorf("Spend: %v", err)
	}
	if got := len(store.charges()); got != 2 {
		t.Errorf("the store was asked for %d charges, want that of the request and that of Spend", got)
	}
}

func TestSpendGoesWhereTheRequestWasCounted(t *testing.T) {
	store := &scripted{err: errDown}
	m := mustNew(t, httplimit.Config{Expose: true, Store: store, Rules: []httplimit.Rule{ip(limiter.PerDay(10))}})
	ctx := exposed(t, m, t.Context())
	store.fail(nil) // back before the handler spends
	if err := httplimit.Spend(ctx, "ip", 3); err != nil {
		t.Fatal(err)
	}
	if got := len(store.charges()); got != 1 {
		t.Errorf("the store was asked for %d charges, want only that of the request", got)
	}
	store.fail(errDown)
	if got := remaining(t, m, "ip"); got != 6 {
		t.Errorf("remaining in this process: got %d, want 10 - 1 - 3", got)
	}
}
