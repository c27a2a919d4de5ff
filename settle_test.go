package httplimit_test

import (
	"context"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

func TestSettleFailed(t *testing.T) {
	tests := map[string]struct {
		written int
		leaves  bool
		want    int // that CountStatus is asked about; 0: it is not, and the request counts
	}{
		"nothing sent":                   {0, false, 500},
		"an announcement":                {103, false, 500},
		"a success":                      {200, false, 200},
		"a redirect":                     {399, false, 399},
		"an error that was read":         {400, false, 400},
		"another one":                    {502, false, 502},
		"a client that left before":      {0, true, 0},
		"one that left during a success": {200, true, 200},
		"one that left after an error":   {401, true, 401},
		"one that left before a 502":     {502, true, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			asked := 0
			rule := ip(limiter.PerDay(5))
			rule.CountStatus = func(status int) bool { asked = status; return false }
			store := &scripted{}
			m := mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{rule}})
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			o := m.Check(httplimit.HTTPRequest(get().WithContext(ctx)))
			if tt.leaves {
				leave()
			}
			o.SettleFailed(tt.written)
			if asked != tt.want {
				t.Errorf("settled with %d, want %d", asked, tt.want)
			}
			given := len(store.charges()) - 1
			if want := min(tt.want, 1); given != want {
				t.Errorf("given back %d times, want %d", given, want)
			}
		})
	}
}
