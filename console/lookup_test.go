package console

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// form makes a form of names and values.
func form(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	return v
}

func shapeOf(t *testing.T, s *site, text string) string {
	t.Helper()
	for _, shape := range s.look().shapes() {
		if shape.Text == text {
			return shape.ID
		}
	}
	t.Fatal("there is no shape ", text)
	return ""
}

// waitForNextSecond waits until what was counted up to now stands in a snapshot.
func waitForNextSecond(t *testing.T, s *site) {
	t.Helper()
	second := s.second()
	eventually(t, "a second", func() bool { return s.second() > second })
}

func TestLookupAndReset(t *testing.T) {
	login := httplimit.Rule{
		Name: "login", Key: httplimit.Compose(httplimit.ClientIP(), httplimit.Header("X-User")),
		Limit: limiter.PerDay(1),
		Ban:   httplimit.Ban{After: 2, Within: time.Hour, For: time.Hour}, Plans: []limiter.Limit{limiter.PerDay(50)},
	}
	s := newSite(t, byAddress("address", limiter.PerDay(100)), byAddress("tight", limiter.PerHour(100)), login)
	bob := func(r *http.Request) { r.Header.Set("X-User", "bob") }
	for range 4 {
		s.request("192.0.2.7", bob)
	}
	shape := shapeOf(t, s, "ip + header:X-User")
	itsForm := form("shape", shape, "part", "192.0.2.7", "part", "bob")
	w := s.post("client", itsForm, "alice")
	mustContain(t, w, "192.0.2.7 &#43; bob", "banned", "Lift the ban and reset", "1/d", "50/d", "<b>Banned</b> until")

	w = s.post("client", itsForm, "")
	mustContain(t, w, "banned")
	if strings.Contains(w.Body.String(), `action="reset"`) {
		t.Error("got a way to reset for somebody who is no operator")
	}
	if got := s.post("reset", itsForm, "").Code; got != http.StatusForbidden {
		t.Errorf("got %d for a reset by nobody, want 403", got)
	}
	if got := s.request("192.0.2.7", bob); got != http.StatusTooManyRequests {
		t.Fatalf("got %d before the reset, want 429", got)
	}
	mustContain(t, s.post("reset", itsForm, "alice"), "Reset by alice", "passes")
	if got := s.request("192.0.2.7", bob); got != http.StatusOK {
		t.Errorf("got %d after the reset, want 200", got)
	}
	mustContain(t, s.get("activity"), "alice", "login", "192.0.2.7 &#43; bob")
	if !strings.Contains(s.log.String(), "operator=alice rule=login key=192.0.2.7:bob") {
		t.Errorf("got no line in the log: %s", s.log)
	}

	// All rules of the same Key answer, and only they.
	var f found
	body := s.post("api/client.json", form("shape", shapeOf(t, s, "ip"), "part", "192.0.2.7"), "").Body
	if err := json.Unmarshal(body.Bytes(), &f); err != nil || len(f.Results) != 2 || f.Results[1].Rule != "tight" ||
		f.Results[0].State != "allowed" || f.Results[0].Verdicts[0].Remaining >= 100 {
		t.Errorf("got %+v, %v, want what address and tight say", f, err)
	}
}

// A secret that was looked up stands nowhere in what comes back, and still what was found can be reset.
func TestSecretsAreNotShown(t *testing.T) {
	s := newSite(t, httplimit.Rule{Name: "api", Key: httplimit.APIKey("X-Api-Key"), Limit: limiter.PerDay(1)})
	const secret = "very-secret-key"
	send := func() int {
		return s.request("192.0.2.7", func(r *http.Request) { r.Header.Set("X-Api-Key", secret) })
	}
	send()
	if got := send(); got != http.StatusTooManyRequests {
		t.Fatalf("got %d, want 429", got)
	}
	w := s.post("client", form("shape", shapeOf(t, s, "apikey:X-Api-Key"), "part", secret), "alice")
	mustContain(t, w, "refused", "a secret")
	_, after, _ := strings.Cut(w.Body.String(), `name="token" value="`)
	token, _, _ := strings.Cut(after, `"`)
	all := w.Body.String()
	for name, v := range w.Header() {
		all += name + strings.Join(v, " ")
	}
	w = s.post("reset", form("token", token), "alice")
	mustContain(t, w, "Reset by alice")
	all += w.Body.String() + s.get("activity").Body.String() + s.get("").Body.String() + s.log.String()
	if strings.Contains(all, secret) {
		t.Error("the secret stands in an answer or in the log")
	}
	if got := send(); got != http.StatusOK {
		t.Errorf("got %d after the reset, want 200", got)
	}

	// By its key, as the list of clients has it.
	send()
	key, err := s.limits.KeyOf("api", secret)
	if err != nil {
		t.Fatal(err)
	}
	mustContain(t, s.post("reset", form("rule", ruleID("shop", "api"), "key", key), "alice"), "Reset by alice")
	if got := send(); got != http.StatusOK {
		t.Errorf("got %d after the reset by key, want 200", got)
	}
	other := newSite(t, byAddress("address", limiter.PerDay(1)))
	w = other.post("reset", form("token", token), "alice")
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "look the client up again") {
		t.Errorf("got %d for the token of another process, want 400: %s", w.Code, w.Body)
	}
}

func TestLookupFaults(t *testing.T) {
	s := newSite(t, byAddress("address", limiter.PerDay(1)))
	id, shape := ruleID("shop", "address"), shapeOf(t, s, "ip")
	for name, f := range map[string]url.Values{
		"nothing":        form(),
		"no such shape":  form("shape", "x", "part", "192.0.2.7"),
		"no such rule":   form("rule", "x", "key", "y"),
		"too few parts":  form("shape", shape),
		"too many parts": form("shape", shape, "part", "a", "part", "b"),
		"a bad token":    form("token", "AAAA"),
		"a key too long": form("rule", id, "key", strings.Repeat("k", maxKey+1)),
		"a terminal's":   form("rule", id, "key", "\x1b[31m"),
		"two lines":      form("rule", id, "key", "a\nb"),
		"turned around":  form("rule", id, "key", "\u202ebob"),
	} {
		if w := s.post("client", f, "alice"); w.Code != http.StatusBadRequest {
			t.Errorf("%s: got %d, want 400", name, w.Code)
		}
		if w := s.post("api/reset.json", f, "alice"); w.Code != http.StatusBadRequest || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: got %d %s, want 400 and JSON", name, w.Code, w.Body)
		}
	}
	if acts := s.acts.list(); len(acts) > 0 {
		t.Errorf("got %+v noted, want nothing", acts)
	}
	// What the rule itself does not understand is said by the rule.
	mustContain(t, s.post("client", form("shape", shape, "part", "no address"), "bob"), "not known")
	tooLong := form("shape", shape, "part", strings.Repeat("x", maxBody))
	if w := s.post("client", tooLong, "bob"); w.Code != http.StatusBadRequest {
		t.Errorf("got %d for a form that is too long, want 400", w.Code)
	}
}

// No address of a page has a key in it.
func TestNoKeyInAnAddress(t *testing.T) {
	s := newSite(t, byAddress("address", limiter.PerDay(1)))
	s.request("192.0.2.77")
	s.request("192.0.2.77")
	waitForNextSecond(t, s)
	id := ruleID("shop", "address")
	pages := s.get("").Body.String() + s.get("rule?id="+id).Body.String() +
		s.post("client", form("rule", id, "key", "192.0.2.77"), "alice").Body.String()
	if !strings.Contains(pages, ">192.0.2.77<") {
		t.Fatal("the client stands in no list")
	}
	for _, attribute := range []string{"href=", "action=", "src=", "data-events="} {
		for _, after := range strings.Split(pages, attribute)[1:] {
			if value, _, _ := strings.Cut(after[1:], `"`); strings.Contains(value, "192.0.2.77") {
				t.Errorf("got a key in %s%s", attribute, value)
			}
		}
	}
}

// Names and identities that are typed are no stored keys: what looks like %XX in them is meant, so that no operator can
// be noted under the name of another one.
func TestTypedTextsStayAsTheyAre(t *testing.T) {
	s := newSite(t, httplimit.Rule{Name: "user", Key: httplimit.Header("X-User"), Limit: limiter.PerDay(1)})
	w := s.post("reset", form("shape", shapeOf(t, s, "header:X-User"), "part", "b%6Fb"), "al%69ce")
	mustContain(t, w, "<h1>b%6Fb</h1>", "Reset by al%69ce")
	mustContain(t, s.get("activity"), "al%69ce", ">b%6Fb<")
	if got := s.log.String(); !strings.Contains(got, "operator=al%69ce") {
		t.Errorf("got %s in the log, want the operator's name as it is", got)
	}
	w = s.post("reset", form("shape", shapeOf(t, s, "header:X-User"), "part", "bob"), "al\nice\u202e")
	mustContain(t, w, "Reset by al%0Aice%E2%80%AE")
}
