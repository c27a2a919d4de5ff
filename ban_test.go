package httplimit_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// banning is a rule that lets one request a second pass, and bans who is refused 3 times in a minute for an hour.
func banning() httplimit.Rule {
	return httplimit.Rule{
		Name: "api", Key: httplimit.Header("X-User"),
		Limit: limiter.Limit{Requests: 1, Window: time.Second, Algorithm: limiter.SlidingLog},
		Ban:   httplimit.Ban{After: 3, Within: time.Minute, For: time.Hour},
	}
}

func banningAll(t *testing.T, rules ...httplimit.Rule) *httplimit.Middleware {
	t.Helper()
	return mustNew(t, httplimit.Config{Rules: rules})
}

// by is a request of that user.
func by(user string) *http.Request {
	r := get()
	r.Header.Set("X-User", user)
	return r
}

// statuses sends n requests of that user at once and returns the statuses.
func statuses(m *httplimit.Middleware, user string, n int) (all []int) {
	for range n {
		all = append(all, serveRequest(m, by(user)).Code)
	}
	return all
}

func wantStatus(t *testing.T, when string, w *httptest.ResponseRecorder, status int) {
	t.Helper()
	if w.Code != status {
		t.Fatalf("%s: got %d, Retry-After %q, want %d", when, w.Code, w.Header().Get("Retry-After"), status)
	}
}

// wantRefusal fails unless w is a refusal with that Retry-After.
func wantRefusal(t *testing.T, when string, w *httptest.ResponseRecorder, retryAfter string) {
	t.Helper()
	if got := w.Header().Get("Retry-After"); w.Code != http.StatusTooManyRequests || got != retryAfter {
		t.Errorf("%s: got %d and Retry-After %q, want 429 and %q", when, w.Code, got, retryAfter)
	}
}

func TestBanEndsAtTheMillisecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := banningAll(t, banning())
		wantStatus(t, "within the limit", serveRequest(m, by("ann")), 200)
		wantRefusal(t, "first strike", serveRequest(m, by("ann")), "1")
		wantRefusal(t, "second strike", serveRequest(m, by("ann")), "1")
		time.Sleep(17 * time.Millisecond)
		w := serveRequest(m, by("ann"))
		wantRefusal(t, "third strike, which begins the ban", w, "3600")
		if got, want := w.Header().Get("RateLimit"), `"api";r=0;t=3600`; got != want {
			t.Errorf("RateLimit: got %q, want %q", got, want)
		}
		begun := time.Now()
		for _, after := range []time.Duration{time.Millisecond, 10 * time.Second, time.Hour - time.Millisecond} {
			time.Sleep(time.Until(begun.Add(after)))
			seconds := (time.Hour - after + time.Second - 1).Truncate(time.Second) / time.Second
			w := serveRequest(m, by("ann"))
			wantRefusal(t, after.String(), w, fmt.Sprint(int(seconds)))
			checkRefusal(t, w, "api")
			if got, want := w.Header().Get("RateLimit"), fmt.Sprintf(`"api";r=0;t=%d`, seconds); got != want {
				t.Errorf("RateLimit after %v: got %q, want %q", after, got, want)
			}
			wantStatus(t, "somebody else", serveRequest(m, by(after.String())), 200)
		}
		time.Sleep(time.Millisecond)
		wantStatus(t, "when the ban ends", serveRequest(m, by("ann")), 200)
		wantRefusal(t, "a first strike again", serveRequest(m, by("ann")), "1")
	})
}

// TestBanFromTheFirstRefusal: there is nothing to count then.
func TestBanFromTheFirstRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rule := banning()
		rule.Ban.After = 1
		m := banningAll(t, rule)
		wantStatus(t, "within the limit", serveRequest(m, by("ann")), 200)
		wantRefusal(t, "refused", serveRequest(m, by("ann")), "3600")
		time.Sleep(time.Hour - time.Millisecond)
		wantRefusal(t, "banned", serveRequest(m, by("ann")), "1")
		time.Sleep(time.Millisecond)
		wantStatus(t, "when the ban ends", serveRequest(m, by("ann")), 200)
	})
}

// TestStrikesAreForgottenWithin: what lies further back is no strike, and the window slides.
func TestStrikesAreForgottenWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := banningAll(t, banning())
		for range 20 { // two strikes in each minute
			wantStatus(t, "within the limit", serveRequest(m, by("ann")), 200)
			wantRefusal(t, "a strike", serveRequest(m, by("ann")), "1")
			time.Sleep(30 * time.Second)
		}
		serveRequest(m, by("ann"))
		serveRequest(m, by("ann"))
		wantRefusal(t, "the third in a minute", serveRequest(m, by("ann")), "3600")
	})
}

// TestBanIsExactFromManyAtOnce: 64 requests are refused at once, some of which begin the ban; it ends For after the
// first of them, no strike is left over, and the same begins anew.
func TestBanIsExactFromManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := banningAll(t, banning())
		for round := range 3 {
			var all sync.WaitGroup
			var passed atomic.Int32
			for range 64 {
				all.Go(func() {
					if serveRequest(m, by("ann")).Code == 200 {
						passed.Add(1)
					}
				})
			}
			all.Wait()
			if passed.Load() != 1 {
				t.Errorf("round %d: %d of 64 passed, want 1", round, passed.Load())
			}
			time.Sleep(time.Hour - time.Millisecond)
			wantRefusal(t, "a millisecond before the end", serveRequest(m, by("ann")), "1")
			time.Sleep(time.Millisecond)
			if got, want := statuses(m, "ann", 3), []int{200, 429, 429}; !slices.Equal(got, want) {
				t.Fatalf("round %d: when the ban ends: got %v, want %v", round, got, want)
			}
			if v, err := m.Peek(t.Context(), "api", "ann"); err != nil || v.RetryAfter > time.Second {
				t.Fatalf("round %d: two strikes after the ban: got %+v, %v, want no ban", round, v, err)
			}
			time.Sleep(time.Minute)
		}
	})
}

// TestTheFirstToBeginABanSetsItsEnd: of two requests that find enough strikes, the one that comes too late changes
// nothing, and tells the end all the same.
func TestTheFirstToBeginABanSetsItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, err := memstore.New(memstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		m := mustNew(t, httplimit.Config{Store: &lateToBan{Store: memory}, Rules: []httplimit.Rule{banning()}})
		statuses(m, "ann", 3) // two strikes
		var late *httptest.ResponseRecorder
		var all sync.WaitGroup
		all.Go(func() { late = serveRequest(m, by("ann")) })
		synctest.Wait()
		time.Sleep(500 * time.Millisecond)
		wantRefusal(t, "the first", serveRequest(m, by("ann")), "3600")
		begun := time.Now()
		all.Wait()
		wantRefusal(t, "the late one", late, "3591")
		time.Sleep(time.Until(begun.Add(time.Hour - time.Millisecond)))
		wantRefusal(t, "a millisecond before the end", serveRequest(m, by("ann")), "1")
		time.Sleep(time.Millisecond)
		wantStatus(t, "when the ban ends", serveRequest(m, by("ann")), 200)
	})
}

// lateToBan is a store that takes 9.5 s longer for the first ban.
type lateToBan struct {
	limiter.Store
	once sync.Once
}

func (s *lateToBan) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	late := false
	if slices.ContainsFunc(charges, func(c limiter.Charge) bool { return c.Mode == limiter.Force }) {
		s.once.Do(func() { late = true })
	}
	if late {
		time.Sleep(9500 * time.Millisecond)
	}
	return s.Store.Take(ctx, charges)
}

// TestTwoMiddlewaresBanTogether: they share a store as two processes do, so it is no matter where a strike or a ban
// was.
func TestTwoMiddlewaresBanTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := memstore.New(memstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		both := make([]*httplimit.Middleware, 2)
		for i := range both {
			both[i] = mustNew(t, httplimit.Config{Store: store, Instances: 2, Rules: []httplimit.Rule{banning()}})
		}
		wantStatus(t, "within the limit", serveRequest(both[0], by("ann")), 200)
		for i := range 3 {
			serveRequest(both[i%2], by("ann"))
		}
		for i, m := range both {
			wantRefusal(t, fmt.Sprint("banned in ", i), serveRequest(m, by("ann")), "3600")
		}
		if err := both[1].Reset(t.Context(), "api", "ann"); err != nil {
			t.Fatal(err)
		}
		wantStatus(t, "lifted in the other one", serveRequest(both[0], by("ann")), 200)
	})
}

// TestNoStrikes: what is refused for another reason than this rule's own limit bans nobody, nor do requests whose key
// is not the client's own.
func TestNoStrikes(t *testing.T) {
	never := func(*http.Request) (limiter.Limit, error) { return limiter.PerSecond(0), nil }
	ambiguous := get()
	ambiguous.Header["X-User"] = []string{"ann", "bob"}
	options := preflight()
	options.Header.Set("X-User", "ann")
	everyone := httplimit.Rule{Name: "all", Key: httplimit.Everyone(), Limit: banning().Limit}
	wide := banning()
	wide.Limit = limiter.PerSecond(1000)
	suspended := banning()
	suspended.LimitFunc = never
	outside := banning()
	outside.Percent = 1
	for name, test := range map[string]struct {
		rules []httplimit.Rule
		sent  *http.Request
		after int // the status once the quota is back
	}{
		"by another rule":  {[]httplimit.Rule{everyone, wide}, by("ann"), 200},
		"no identity":      {[]httplimit.Rule{banning()}, get(), 200},
		"ambiguous":        {[]httplimit.Rule{banning()}, ambiguous, 200},
		"preflights":       {[]httplimit.Rule{banning()}, options, 200},
		"limit of 0":       {[]httplimit.Rule{suspended}, by("ann"), 429},
		"outside of a few": {[]httplimit.Rule{outside}, by("user0"), 200},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := banningAll(t, test.rules...)
				for range 50 {
					serveRequest(m, test.sent)
				}
				time.Sleep(time.Second)
				wantStatus(t, "a second later", serveRequest(m, test.sent), test.after)
				time.Sleep(time.Second)
				v, err := m.Peek(t.Context(), "api", "ann")
				if err != nil || !v.Allowed {
					t.Errorf("Peek of the user: got %+v, %v, want it allowed", v, err)
				}
			})
		})
	}
}

// TestABanIsNoStrike: what a banned client goes on sending does not make its ban longer, and counts for no later one.
func TestABanIsNoStrike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rule := banning()
		rule.Ban.Within, rule.Ban.For = time.Hour, 10*time.Second
		m := banningAll(t, rule)
		statuses(m, "ann", 4)
		for range 99 {
			time.Sleep(100 * time.Millisecond)
			wantStatus(t, "banned", serveRequest(m, by("ann")), 429)
		}
		time.Sleep(100 * time.Millisecond)
		if got, want := statuses(m, "ann", 3), []int{200, 429, 429}; !slices.Equal(got, want) {
			t.Fatalf("when the ban ends: got %v, want %v", got, want)
		}
		time.Sleep(time.Second)
		wantStatus(t, "after two strikes", serveRequest(m, by("ann")), 200)
	})
}

// TestPreflightsOfTheBanned: a browser asks whether it may send, and is then told of the ban, which a script cannot
// read of a preflight.
func TestPreflightsOfTheBanned(t *testing.T) {
	m := banningAll(t, banning())
	statuses(m, "ann", 4)
	r := preflight()
	r.Header.Set("X-User", "ann")
	wantStatus(t, "a preflight", serveRequest(m, r), 200)
	wantStatus(t, "the request", serveRequest(m, by("ann")), 429)
}

// TestBanOfOneRuleOnly: the other rules spend nothing for what is refused, and their refusals tell the longest wait.
func TestBanOfOneRuleOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wide := httplimit.Rule{Name: "wide", Key: httplimit.Header("X-User"), Limit: limiter.PerDay(10)}
		m := banningAll(t, banning(), wide)
		statuses(m, "ann", 40)
		w := serveRequest(m, by("ann"))
		checkRefusal(t, w, "api")
		if v, err := m.Peek(t.Context(), "wide", "ann"); err != nil || v.Remaining != 9 {
			t.Errorf("the other rule: got %+v, %v, want 9 remaining", v, err)
		}
	})
}

// TestBanAndQuota: the quota may be back later than the ban ends, or never.
func TestBanAndQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rule := banning()
		rule.Limit = limiter.Limit{Requests: 1, Window: 2 * time.Hour, Algorithm: limiter.SlidingLog}
		cost := int64(1)
		rule.Cost = func(*http.Request) (int64, error) { return cost, nil }
		m := banningAll(t, rule)
		statuses(m, "ann", 3)
		wantRefusal(t, "the strike that begins the ban", serveRequest(m, by("ann")), "7200")
		wantRefusal(t, "banned", serveRequest(m, by("ann")), "7200")
		cost = 0
		wantRefusal(t, "a request that costs nothing", serveRequest(m, by("ann")), "3600")
		cost = 2
		wantRefusal(t, "one that can never pass", serveRequest(m, by("ann")), "")
	})
}

// TestPrivateBan: what the refusal may tell of a rule that clients are not to see.
func TestPrivateBan(t *testing.T) {
	rule := banning()
	rule.Private = true
	m := banningAll(t, rule)
	statuses(m, "ann", 4)
	w := serveRequest(m, by("ann"))
	checkRefusal(t, w)
	if got := w.Header().Get("RateLimit") + w.Header().Get("RateLimit-Policy"); got != "" {
		t.Errorf("fields: got %q, want none", got)
	}
}

func TestAllowPeekAndResetOfABan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := banningAll(t, banning())
		ctx, end := context.WithCancel(t.Context())
		end() // who hangs up is counted all the same
		for i, want := range []bool{true, false, false, false} {
			if v, err := m.Allow(ctx, "api", "ann"); err != nil || v.Allowed != want {
				t.Fatalf("Allow number %d: got %+v, %v, want allowed %v", i, v, err, want)
			}
		}
		time.Sleep(10 * time.Second)
		want := limiter.Decision{RetryAfter: time.Hour - 10*time.Second, ResetAfter: time.Hour - 10*time.Second}
		for range 10 {
			v, err := m.Peek(t.Context(), "api", "ann")
			if err != nil || v.Decision != want {
				t.Fatalf("Peek: got %+v, %v, want %+v", v, err, want)
			}
		}
		v, err := m.PeekLimit(t.Context(), "api", limiter.PerHour(1000), "ann")
		if err != nil || v.Decision != want {
			t.Errorf("PeekLimit: got %+v, %v, want %+v", v, err, want)
		}
		all, err := m.PeekRequest(by("ann"))
		if err != nil || len(all) != 1 || all[0].Decision != want {
			t.Errorf("PeekRequest: got %+v, %v, want %+v", all, err, want)
		}
		if v, err = m.Allow(t.Context(), "api", "ann"); err != nil || v.Decision != want {
			t.Errorf("Allow: got %+v, %v, want %+v", v, err, want)
		}
		if d, denied := v.Denied(); !denied || d.RetryAfter != want.RetryAfter {
			t.Errorf("Denied: got %+v, %v, want %v", d, denied, want.RetryAfter)
		}
		if err := m.Reset(t.Context(), "api", "ann"); err != nil {
			t.Fatal(err)
		}
		wantStatus(t, "after the reset", serveRequest(m, by("ann")), 200)
	})
}

// TestResetForgetsStrikes: else a client that was unblocked is banned at its next mistake.
func TestResetForgetsStrikes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := banningAll(t, banning())
		for range 3 {
			if got, want := statuses(m, "ann", 3), []int{200, 429, 429}; !slices.Equal(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
			if err := m.Reset(t.Context(), "api", "ann"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestObserverIsToldOfBans: the refusal that begins a ban is one by the limit; all after it are banned.
func TestObserverIsToldOfBans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		var last httplimit.Observed
		m := mustNew(t, httplimit.Config{
			Rules: []httplimit.Rule{
				{Name: "first", Key: httplimit.ClientIP(), Limit: limiter.PerDay(100)}, banning(),
			},
			Observer: watch(func(_ context.Context, o *httplimit.Observation) {
				last = o.Rules[len(o.Rules)-1]
				told = append(told, fmt.Sprint(len(o.Rules), " ", last.Result, " ", o.Rules[0].Result))
			}),
		})
		statuses(m, "ann", 5)
		if _, err := m.Allow(t.Context(), "api", "ann"); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"2 allowed allowed", "2 refused allowed", "2 refused allowed", "2 refused allowed", "2 banned allowed",
			"1 banned banned",
		}
		if !slices.Equal(told, want) {
			t.Errorf("got\n%q, want\n%q", told, want)
		}
		if last.RetryAfter != time.Hour || last.Key != "ann" || last.Limit != banning().Limit {
			t.Errorf("got %+v, want the key, the rule's limit, and the end of the ban", last)
		}
	})
}

func TestReconfigureKeepsBans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := banningAll(t, banning())
		statuses(m, "ann", 4)
		statuses(m, "bob", 3) // two strikes
		change := func(change func(*httplimit.Rule)) {
			rule := banning()
			change(&rule)
			if err := m.Reconfigure(httplimit.Config{Rules: []httplimit.Rule{rule}}); err != nil {
				t.Fatal(err)
			}
		}
		change(func(r *httplimit.Rule) { r.Ban.After, r.Limit = 7, limiter.PerDay(1000) })
		wantRefusal(t, "with another limit and another After", serveRequest(m, by("ann")), "3600")
		change(func(r *httplimit.Rule) { r.Ban = httplimit.Ban{} })
		time.Sleep(time.Second)
		wantStatus(t, "without bans", serveRequest(m, by("ann")), 200)
		change(func(*httplimit.Rule) {})
		wantRefusal(t, "with bans again", serveRequest(m, by("ann")), "3599")
		wantStatus(t, "who has strikes", serveRequest(m, by("bob")), 200)
		wantRefusal(t, "whose strikes were kept", serveRequest(m, by("bob")), "3600")
		change(func(r *httplimit.Rule) { r.Ban.For = time.Minute })
		time.Sleep(time.Second)
		wantStatus(t, "with a new For", serveRequest(m, by("ann")), 200)
	})
}

// TestBansOutsideOfPercent: for whom the rule is no longer in force, its bans are not either.
func TestBansOutsideOfPercent(t *testing.T) {
	var told httplimit.Result
	cfg := func(percent int) httplimit.Config {
		rule := banning()
		rule.Percent, rule.Limit = percent, limiter.PerDay(1)
		return httplimit.Config{Rules: []httplimit.Rule{rule}, Observer: watch(
			func(_ context.Context, o *httplimit.Observation) { told = o.Rules[0].Result },
		)}
	}
	m := mustNew(t, cfg(99))
	for i := range 9 {
		statuses(m, fmt.Sprint("ann", i), 5)
		if told != httplimit.ResultBanned {
			t.Fatalf("ann%d at 99 %%: got %v, want banned", i, told)
		}
	}
	if err := m.Reconfigure(cfg(1)); err != nil {
		t.Fatal(err)
	}
	for i := range 9 {
		wantStatus(t, "at 1 %", serveRequest(m, by(fmt.Sprint("ann", i))), 200)
		if told != httplimit.ResultShadowRefused {
			t.Errorf("ann%d at 1 %%: got %v, want shadow_refused by the limit", i, told)
		}
	}
}

// TestBansDuringAnOutage: they are neither known nor begun, and hold again afterwards.
func TestBansDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, err := memstore.New(memstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		store := &failing{Store: memory}
		m := mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{banning()}})
		statuses(m, "ann", 4)
		store.down.Store(true)
		if got, want := statuses(m, "ann", 3), []int{200, 429, 429}; !slices.Equal(got, want) {
			t.Errorf("who is banned, while the store is away: got %v, want %v", got, want)
		}
		statuses(m, "bob", 10)
		store.down.Store(false)
		wantRefusal(t, "afterwards", serveRequest(m, by("ann")), "3600")
		wantStatus(t, "who was refused meanwhile", serveRequest(m, by("bob")), 200)
	})
}

// failing is a store that can be down, or fail in its next calls but one.
type failing struct {
	limiter.Store
	down  atomic.Bool
	fails atomic.Int32 // 1: each call after a refusal fails
	last  atomic.Bool  // the call before was refused
}

func (s *failing) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	if s.down.Load() || s.fails.Load() == 1 && s.last.Swap(false) {
		return false, errDown
	}
	taken, err := s.Store.Take(ctx, charges)
	s.last.Store(!taken)
	return taken, err
}

// TestStrikesThatCannotBeCounted: the request is refused as it was, and the log says so once.
func TestStrikesThatCannotBeCounted(t *testing.T) {
	memory, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	store := &failing{Store: memory}
	store.fails.Store(1)
	var log strings.Builder
	rule := banning()
	rule.Limit = limiter.PerDay(1)
	m := mustNew(t, httplimit.Config{
		Store: store, Rules: []httplimit.Rule{rule}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if got, want := statuses(m, "ann", 9), []int{200, 429, 429, 429, 429, 429, 429, 429, 429}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if v, err := m.Peek(t.Context(), "api", "ann"); err != nil || v.Allowed {
		t.Errorf("Peek: got %+v, %v, want refused by the limit", v, err)
	}
	if got := strings.Count(log.String(), "a refusal could not be counted for a ban"); got != 1 {
		t.Errorf("got %d lines, want 1:\n%s", got, log.String())
	}
}

// TestAFloodFreesNoBanned: whatever number of keys comes, of whatever kind.
func TestAFloodFreesNoBanned(t *testing.T) {
	for name, each := range map[string]int{"keys within the limit": 1, "refused keys": 2, "banned keys": 5} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const most = 512
				store, err := memstore.New(memstore.Config{MaxKeys: most})
				if err != nil {
					t.Fatal(err)
				}
				rule := banning()
				rule.Limit, rule.Ban.For = limiter.PerHour(1), 5*time.Hour
				m := mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{rule}})
				for i := range 20 {
					statuses(m, fmt.Sprint("banned", i), 4)
				}
				for i := range 20 * most {
					statuses(m, fmt.Sprint("flood", i), each)
				}
				for i := range 20 {
					v, err := m.Peek(t.Context(), "api", fmt.Sprint("banned", i))
					if err != nil || v.RetryAfter != 5*time.Hour {
						t.Errorf("banned%d: got %+v, %v, want it banned for 5 hours", i, v, err)
					}
				}
			})
		})
	}
}

// TestAFloodBansNobody: what a memstore refuses early, because a flood has filled it, is no strike.
func TestAFloodBansNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, users = 64, 500
		store, err := memstore.New(memstore.Config{MaxKeys: most})
		if err != nil {
			t.Fatal(err)
		}
		for i := range most { // the store is full for a minute
			c := limiter.Charge{Scope: "other", Key: fmt.Sprint(i), Limit: limiter.PerMinute(1), Cost: 1}
			c.Limit.Algorithm = limiter.FixedWindow
			if _, err := store.Take(t.Context(), []limiter.Charge{c}); err != nil {
				t.Fatal(err)
			}
		}
		rule := banning()
		rule.Limit, rule.Ban.For = limiter.PerDay(1), 5*24*time.Hour
		m := mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{rule}})
		for i := range users {
			statuses(m, fmt.Sprint("flood", i), 1)
		}
		time.Sleep(2 * time.Minute) // there are slots again, for strikes too
		early := 0
		for i := range users {
			name := fmt.Sprint("user", i)
			if statuses(m, name, 1)[0] == http.StatusOK {
				continue
			}
			early++
			statuses(m, name, 10)
			if v, err := m.Peek(t.Context(), "api", name); err != nil || v.RetryAfter > 48*time.Hour {
				t.Fatalf("%s, refused early: got %+v, %v, want no ban", name, v, err)
			}
		}
		if early == 0 {
			t.Fatal("nobody was refused early: the test shows nothing")
		}
	})
}

func TestBanFaults(t *testing.T) {
	const year = 366 * 24 * time.Hour
	rule := banning()
	with := func(change func(*httplimit.Rule)) httplimit.Rule {
		r := rule
		change(&r)
		return r
	}
	for name, test := range map[string]struct {
		rule  httplimit.Rule
		store limiter.Store
		want  []string
	}{
		"none":   {rule: with(func(r *httplimit.Rule) { r.Ban = httplimit.Ban{} })},
		"least":  {rule: with(func(r *httplimit.Rule) { r.Ban = httplimit.Ban{1, time.Millisecond, time.Millisecond} })},
		"most":   {rule: with(func(r *httplimit.Rule) { r.Ban = httplimit.Ban{1000, year, year} })},
		"no For": {rule: with(func(r *httplimit.Rule) { r.Ban.For = 0 }), want: []string{"Rules[0].Ban.For"}},
		"all too small": {
			rule: with(func(r *httplimit.Rule) { r.Ban = httplimit.Ban{0, -1, time.Microsecond} }),
			want: []string{"Rules[0].Ban.After", "Rules[0].Ban.Within", "Rules[0].Ban.For"},
		},
		"all too large": {
			rule: with(func(r *httplimit.Rule) { r.Ban = httplimit.Ban{1001, 367 * 24 * time.Hour, 367 * 24 * time.Hour} }),
			want: []string{"Rules[0].Ban.After", "Rules[0].Ban.Within", "Rules[0].Ban.For"},
		},
		"Shadow": {rule: with(func(r *httplimit.Rule) { r.Shadow = true }), want: []string{"Rules[0].Ban"}},
		"Everyone": {
			rule: with(func(r *httplimit.Rule) { r.Key = httplimit.Everyone() }), want: []string{"Rules[0].Ban"},
		},
		"everyone on a route": {
			rule: with(func(r *httplimit.Rule) {
				r.Key = httplimit.Secret(httplimit.Compose(httplimit.Everyone(), httplimit.Route()))
			}),
			want: []string{"Rules[0].Ban"},
		},
		"everyone without a user": {
			rule: with(func(r *httplimit.Rule) { r.Key = httplimit.FirstOf(rule.Key, httplimit.Everyone()) }),
			want: []string{"Rules[0].Ban"},
		},
		"one user on a route": {
			rule: with(func(r *httplimit.Rule) { r.Key = httplimit.Compose(rule.Key, httplimit.Route()) }),
		},
		"a store without buckets and logs": {
			rule:  with(func(r *httplimit.Rule) { r.Limit = limiter.PerSecond(1) }),
			store: windowsStore{}, want: []string{"Rules[0].Ban", "Rules[0].Ban"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := httplimit.Config{Store: test.store, Rules: []httplimit.Rule{test.rule}}.Validate()
			if got := fields(err); !slices.Equal(got, test.want) {
				t.Errorf("got faults of %v, want %v: %v", got, test.want, err)
			}
			if err != nil && !strings.Contains(err.Error(), `Rules[0] "api".Ban`) {
				t.Errorf("got %v, want the rule named", err)
			}
		})
	}
}

// windowsStore is a store without TokenBucket and SlidingLog.
type windowsStore struct{ limiter.Store }

func (windowsStore) Check(l limiter.Limit) error {
	if l.Algorithm == limiter.SlidingWindow || l.Algorithm == limiter.FixedWindow {
		return nil
	}
	return fmt.Errorf("windows: %w", limiter.ErrUnsupported)
}
