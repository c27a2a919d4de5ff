package httplimit_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

type carried struct{}

// A framework on net/http brings its own context value and its own pattern.
func TestCheckHTTP(t *testing.T) {
	var with []any
	note := func(r *http.Request) bool {
		with = append(with, r.Context().Value(carried{}))
		return true
	}
	route := ip(limiter.PerDay(5))
	route.Key, route.When = httplimit.Route(), note
	store := &scripted{}
	m := mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{route}})

	r := get()
	r.Pattern = "GET /of/another/mux"
	m.CheckHTTP(r, "/users/:id", carried{}, "theirs").Settle(http.StatusOK)
	m.Check(httplimit.HTTPRequest(r)).Settle(http.StatusOK)
	m.Handler(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), r)

	if want := []any{"theirs", nil, nil}; !slices.Equal(with, want) {
		t.Errorf("the value in the context: got %v, want %v", with, want)
	}
	var keys []string
	for _, c := range store.charges() {
		keys = append(keys, c.Key)
	}
	if want := []string{"/users/:id", "GET%20/of/another/mux", "GET%20/of/another/mux"}; !slices.Equal(keys, want) {
		t.Errorf("keys: got %q, want %q", keys, want)
	}
}

// counted is a Request that tells how often it was asked for one of net/http's.
type counted struct {
	httplimit.Request
	times *int
}

func (c counted) HTTP() *http.Request {
	*c.times++
	return c.Request.HTTP()
}

func TestHTTPIsAskedForOnce(t *testing.T) {
	always := func(*http.Request) bool { return true }
	first, second := ip(limiter.PerDay(5)), ip(limiter.PerDay(5))
	first.When, second.When, second.Name = always, always, "second"
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{first, second}})
	for want := 1; want <= 2; want++ {
		times := 0
		m.Check(counted{httplimit.HTTPRequest(get()), &times}).Settle(http.StatusOK)
		if times != 1 {
			t.Errorf("request %d: HTTP was called %d times, want once", want, times)
		}
	}
}

// outcomes are a few, of every kind.
func outcomes(t *testing.T) map[string]func() *httplimit.Outcome {
	private, other := ip(limiter.PerDay(1)), ip(limiter.PerDay(1))
	private.Private, other.Name = true, "other"
	closed := ip(limiter.PerDay(1))
	closed.Failure = httplimit.FailClosed
	down := &scripted{err: fmt.Errorf("down")}
	second := func(cfg httplimit.Config) func() *httplimit.Outcome {
		m := mustNew(t, cfg)
		m.Check(httplimit.HTTPRequest(get())).Settle(http.StatusOK)
		return func() *httplimit.Outcome { return m.Check(httplimit.HTTPRequest(get())) }
	}
	return map[string]func() *httplimit.Outcome{
		"allowed": second(httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerDay(5))}}),
		"refused": second(httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerDay(1))}}),
		"refused by one of two": second(
			httplimit.Config{
				Rules: []httplimit.Rule{private, {Name: "wide", Key: httplimit.Everyone(), Limit: limiter.PerDay(9)}},
			},
		),
		"refused by both": second(httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerDay(1)), other}}),
		"in an older style": second(
			httplimit.Config{Headers: httplimit.XRateLimitDelta, Rules: []httplimit.Rule{ip(limiter.PerDay(5))}},
		),
		"refused in secret": second(httplimit.Config{Rules: []httplimit.Rule{private}}),
		"the store is down": second(httplimit.Config{Store: down, Rules: []httplimit.Rule{closed}}),
	}
}

func TestProblemIsThatOfTheDenial(t *testing.T) {
	for name, outcome := range outcomes(t) {
		t.Run(name, func(t *testing.T) {
			o := outcome()
			defer o.Settle(http.StatusOK)
			d, denied := o.Denied()
			if o.Status() != d.Status || denied != (d.Status != 0) {
				t.Errorf("Status: got %d, want %d, denied %v", o.Status(), d.Status, denied)
			}
			if !denied {
				return
			}
			want, err := d.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			var lines [2][]byte
			for i := range lines {
				lines[i] = append(o.Problem(), byte('1'+i), '\n')
			}
			for i, got := range lines { // when both are written: what is appended to one is not seen in the other
				if want := fmt.Sprintf("%s%d\n", want, i+1); string(got) != want {
					t.Errorf("Problem: got %s, want %s", got, want)
				}
			}
		})
	}
}

func TestEachFieldTellsTheFields(t *testing.T) {
	for name, outcome := range outcomes(t) {
		t.Run(name, func(t *testing.T) {
			o := outcome()
			defer o.Settle(http.StatusOK)
			var want, got []string
			for name, value := range o.Fields() {
				want = append(want, fmt.Sprint(name, ": ", value, name == "Ratelimit" || name == "Ratelimit-Policy"))
			}
			for range 2 {
				got = got[:0]
				o.EachField(func(name string, value []byte, adds bool) {
					got = append(got, fmt.Sprint(name, ": ", string(value), adds))
					_ = append(value, "appended"...)
				})
				if !slices.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			}
		})
	}
}

// The values of many answers stand in one arena, so each is compared when all have been written.
func TestValuesOfManyAnswersStayApart(t *testing.T) {
	const answers = 100
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerDay(answers))}})
	var headers []http.Header
	for range answers {
		h := serve(m, "192.0.2.1:1").Header()
		headers = append(headers, h)
		for name := range h {
			h[name] = append(h[name], "appended")
		}
	}
	for i, h := range headers {
		var remaining int
		if _, err := fmt.Sscanf(h.Get("RateLimit"), `"ip";r=%d;t=`, &remaining); err != nil || remaining != answers-1-i {
			t.Errorf("answer %d: got %q (%v), want r=%d", i, h.Get("RateLimit"), err, answers-1-i)
		}
		if got := h["Ratelimit-Policy"]; len(got) != 2 || got[0] != `"ip";q=100;w=86400` || got[1] != "appended" {
			t.Errorf("answer %d: got the policies %q, want its own and what was appended", i, got)
		}
	}
}

func TestCounts(t *testing.T) {
	plain, byStatus := ip(limiter.PerDay(1)), ip(limiter.PerDay(1))
	byStatus.CountStatus = func(int) bool { return true }
	tests := map[string]struct {
		rule httplimit.Rule
		want []bool // of an allowed and of a refused request
	}{
		"no rule asks":      {plain, []bool{false, false}},
		"one with a status": {byStatus, []bool{true, false}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{tt.rule}})
			for i, want := range tt.want {
				o := m.Check(httplimit.HTTPRequest(get().WithContext(context.Background())))
				if got := o.Counts(); got != want {
					t.Errorf("request %d: got %v, want %v", i, got, want)
				}
				o.Settle(http.StatusOK)
			}
		})
	}
}

// TestASettledOutcomeTouchesNoOtherRequest: an adapter that settles twice, or asks too late, harms nobody but itself.
func TestASettledOutcomeTouchesNoOtherRequest(t *testing.T) {
	rule := ip(limiter.PerDay(100))
	rule.CountStatus = func(status int) bool { return status < http.StatusBadRequest }
	store := &scripted{}
	m := mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{rule}})
	refunds := func() (n int) {
		for _, c := range store.charges() {
			if c.Cost < 0 {
				n++
			}
		}
		return n
	}
	for range 10 {
		late := m.Check(httplimit.HTTPRequest(get()))
		late.Settle(http.StatusOK)
		other := m.Check(httplimit.HTTPRequest(get()))
		before := refunds()
		late.Settle(http.StatusTeapot)
		late.SettleFailed(0)
		if late.Counts() || late.Status() != 0 || late.Exposes() || late.Context() != nil {
			t.Fatal("a settled Outcome still knows of a request")
		}
		if got := refunds(); got != before {
			t.Fatalf("an Outcome settled twice refunded %d times", got-before)
		}
		other.Settle(http.StatusTeapot)
		if got := refunds(); got != before+1 {
			t.Fatalf("the other request was refunded %d times, want once", got-before)
		}
	}
}

// TestAReleasedOutcomeServesTheNextRequest: nothing of an earlier request is left in it.
func TestAReleasedOutcomeServesTheNextRequest(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerDay(100))}})
	for want := int64(99); want > 50; want-- {
		o := m.Check(httplimit.HTTPRequest(get()))
		fields := map[string]string{}
		for name, value := range o.Fields() {
			fields[name] = value
		}
		if got := fmt.Sprintf(`"ip";r=%d;t=`, want); len(fields) != 2 || !strings.HasPrefix(fields["Ratelimit"], got) {
			t.Fatalf("fields: got %v, want two, and %s...", fields, got)
		}
		o.Settle(http.StatusOK)
		o.Release()
	}
}
