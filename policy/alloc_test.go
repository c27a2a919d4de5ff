package policy_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/httplimit/httplimit/policy"
)

// TestConditionAllocs: a rule costs nothing for the requests that it is not for, and its pattern nothing for ordinary
// paths.
func TestConditionAllocs(t *testing.T) {
	cfg, err := mustParse(t, one(`, "when": ["POST /login", "/users/{id}/orders", "/export/"]`)).Config(policy.Names{})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		"/users/Ann-7/orders": true, "/Export/2026/report.csv": true, "/static/app.js": false, "/login": false, "/": false,
	} {
		r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: path}, Host: "shop.example"}
		if got := cfg.Rules[0].When(r); got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
		if allocs := testing.AllocsPerRun(100, func() { cfg.Rules[0].When(r) }); allocs > 0 {
			t.Errorf("%s: got %v allocations, want none", path, allocs)
		}
	}
}
