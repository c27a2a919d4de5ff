package httplimit_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// counts counts decisions by rule, result and source, as metrics do. One for a service has a lock, or atomic counters.
type counts map[string]int

func (c counts) Observe(_ context.Context, o *httplimit.Observation) {
	for i := range o.Rules {
		r := &o.Rules[i]
		c[fmt.Sprint(r.Rule, " ", r.Result, " ", r.Source)]++
	}
}

// Decisions counted by rule, result and source. What becomes of a request is Status, which is told once, however many
// rules apply.
func ExampleObserver() {
	seen := counts{}
	m, err := httplimit.New(httplimit.Config{Observer: seen, Rules: []httplimit.Rule{
		{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerDay(1)},
		{Name: "all", Key: httplimit.Everyone(), Limit: limiter.PerDay(1000)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	h := m.Handler(hello)
	visit(h, "/")
	visit(h, "/")
	fmt.Println(seen)
	// Output:
	// map[all allowed store:2 ip allowed store:1 ip refused store:1]
}

// offenders logs who was refused, and by which rules. A client can have a line written with every request, so a
// service logs a sample of them, or a few a second.
type offenders struct{ log *slog.Logger }

func (s offenders) Observe(ctx context.Context, o *httplimit.Observation) {
	if o.Status != http.StatusTooManyRequests {
		return
	}
	for i := range o.Rules {
		if r := &o.Rules[i]; r.Result == httplimit.ResultRefused {
			s.log.WarnContext(ctx, "refused", "rule", r.Rule, "client", r.Key, "no identity", r.NoKey)
		}
	}
}

// One Observer for metrics, and another one for a log that names the offender, by Private rules too.
func ExampleObservers() {
	text := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{} // which differs from run to run
			}
			return a
		},
	}))
	seen := counts{}
	m, err := httplimit.New(httplimit.Config{
		Observer: httplimit.Observers(seen, offenders{text}),
		Rules: []httplimit.Rule{
			{Name: "user", Key: httplimit.Header("X-User"), Limit: limiter.PerDay(1), Private: true},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	h := m.Handler(hello)
	show(h, "X-User", "ann")
	show(h, "X-User", "ann")
	visit(h, "/")
	visit(h, "/")
	fmt.Println(seen)
	// Output:
	// 200
	// level=WARN msg=refused rule=user client=ann "no identity"=false
	// 429
	// level=WARN msg=refused rule=user client=%N:192.0.2.1 "no identity"=true
	// map[user allowed store:2 user refused store:2]
}
