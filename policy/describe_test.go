package policy_test

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/policy"
)

// described returns the text of a configuration, which has to be a policy again.
func described(t *testing.T, cfg httplimit.Config) (text string, unsaid []string) {
	t.Helper()
	m, err := httplimit.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p, unsaid := policy.Describe(m.Config())
	written, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	mustParse(t, string(written))
	return string(written), unsaid
}

// TestPolicyInForce is the policy that it was made from. A named key stands in it as what it is.
func TestPolicyInForce(t *testing.T) {
	text := strings.Replace(shop, `"$schema": "schema.json", `, "", 1)
	cfg, err := mustParse(t, text).Config(names())
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(mustParse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	wantText := strings.Replace(string(want), "name:user", "header:X-User", 1)
	wantText = strings.Replace(wantText, "X-API-Key", "X-Api-Key", 1) // as net/http writes the name
	got, unsaid := described(t, cfg)
	if got != wantText || len(unsaid) > 0 {
		t.Errorf("got %s\nwant %s\nunsaid: %q, want nothing", got, wantText, unsaid)
	}
}

func isSearch(*http.Request) bool { return true }

// TestConfigurationMadeInGo: nothing of it is left out, and no function of the program's is called.
func TestConfigurationMadeInGo(t *testing.T) {
	lb, other := netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12")
	got, unsaid := described(t, httplimit.Config{
		KeySecret: []byte("0123456789abcdef"),
		Rules: []httplimit.Rule{
			{Name: "peer", Key: httplimit.ClientIP(lb), Limit: limiter.PerMinute(1), When: isSearch},
			{Name: "inside", Key: httplimit.Compose(httplimit.ClientIP(other), httplimit.Route()), NoKey: httplimit.ClientIP(lb),
				Limit: limiter.Per(2, time.Minute), InFlight: true},
			{Name: "functions", Key: httplimit.KeyFunc(func(*http.Request) (string, error) { panic("called") }),
				NoKey: httplimit.Everyone(), Limit: limiter.PerMinute(3),
				When:        httplimit.OnlyFrom(httplimit.ClientIP(lb), other),
				LimitFunc:   func(*http.Request) (limiter.Limit, error) { panic("called") },
				Plans:       []limiter.Limit{limiter.PerHour(9)},
				Cost:        func(*http.Request) (int64, error) { panic("called") },
				CountStatus: func(int) bool { panic("called") },
			},
		},
	})
	want := `{"trustedProxies":["10.0.0.0/8"],"rules":[` +
		`{"name":"peer","key":"ip","noKey":"name:ClientIP","limit":"1/m","when":["name:policy_test.isSearch"]},` +
		`{"name":"inside","key":"name:ClientIP","limit":"2/m","inFlight":true},` +
		`{"name":"functions","key":"name:policy_test.TestConfigurationMadeInGo.func","noKey":"everyone","limit":"3/m",` +
		`"plans":{"9/h":"9/h"},"when":["name:httplimit.OnlyFrom.func"]}]}`
	// How functions without a name are counted is the compiler's business.
	if got = regexp.MustCompile(`\.func[0-9.]+`).ReplaceAllString(got, ".func"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for i, part := range []string{
		`rules[2] "functions".plans: the program has a function that chooses the limit, github.com/`,
		`rules[2] "functions".cost: the program has a function for it, `, `rules[2] "functions".countStatus: the program has`,
		"the program has a KeySecret",
	} {
		if i >= len(unsaid) || !strings.HasPrefix(unsaid[i], part) {
			t.Fatalf("unsaid: got %q, want %q at %d", unsaid, part, i)
		}
	}
	if len(unsaid) != 4 || slices.ContainsFunc(unsaid, func(s string) bool { return strings.Contains(s, "0123456789") }) {
		t.Errorf("unsaid: got %q, want four sentences without the secret", unsaid)
	}
}
