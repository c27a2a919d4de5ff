package httplimit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// A handler tells in its own words where the client stands.
func ExampleVerdicts() {
	m, err := httplimit.New(httplimit.Config{
		Expose: true,
		Rules:  []httplimit.Rule{{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerDay(10)}},
	})
	if err != nil {
		log.Fatal(err)
	}
	h := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, v := range httplimit.Verdicts(r.Context()) {
			fmt.Fprintf(w, "%d of %v left", v.Remaining, v.Limit)
		}
	}))
	fmt.Println(visit(h, "/").Body)
	// Output: 9 of 10/d left
}

// What a query costs is known when its rows are counted. Spend is never refused: the next requests pay.
func ExampleSpend() {
	m, err := httplimit.New(httplimit.Config{
		Expose: true,
		Rules:  []httplimit.Rule{{Name: "rows", Key: httplimit.ClientIP(), Limit: limiter.PerDay(100)}},
	})
	if err != nil {
		log.Fatal(err)
	}
	h := m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		const rows = 150
		if err := httplimit.Spend(r.Context(), "rows", rows); err != nil {
			log.Print(err)
		}
		fmt.Println("spent", httplimit.Verdicts(r.Context())[0].Cost)
	}))
	fmt.Println(visit(h, "/").Code)
	fmt.Println(visit(h, "/").Code)
	// Output:
	// spent 151
	// 200
	// 429
}

// A stream pays first for the most tokens that it may take, so that streams at once cannot overdraw the limit together,
// and gives back what it has not used. examples/tokens has both ways.
func ExampleSpend_giveBack() {
	m, err := httplimit.New(httplimit.Config{
		Expose: true,
		Rules: []httplimit.Rule{{
			Name: "tokens", Key: httplimit.ClientIP(), Limit: limiter.PerDay(1000),
			Cost: func(*http.Request) (int64, error) { return 500, nil },
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	h := m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		left := int64(500)
		defer func() { // also when the client hangs up, or the handler panics
			if err := httplimit.Spend(r.Context(), "tokens", -left); err != nil {
				log.Print(err)
			}
			v := httplimit.Verdicts(r.Context())[0]
			fmt.Println("spent", v.Cost, "left", v.Remaining)
		}()
		left -= 120 // the answer took so many
	}))
	visit(h, "/")
	// Output: spent 120 left 880
}

// The name stands in the body, so the handler asks. No request is counted by the rule itself.
func ExampleMiddleware_Allow() {
	unknown := httplimit.KeyFunc(func(*http.Request) (string, error) { return "", httplimit.ErrSkip })
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "reset mail", Key: unknown, Limit: limiter.PerDay(2)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	h := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := m.Allow(r.Context(), "reset mail", r.PostFormValue("user"))
		if err == nil && v.Allowed {
			fmt.Println("a mail to", r.PostFormValue("user"))
		}
		// The same answer in any case: who has got a mail is nobody's business.
		fmt.Fprintln(w, "look into your mail")
	}))
	for _, user := range []string{"ann", "ann", "ann", "bob"} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(url.Values{"user": {user}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	// Output:
	// a mail to ann
	// a mail to ann
	// a mail to bob
}

// An operator looks where a client stands, by the parts of the rule's key. Nothing is spent.
func ExampleMiddleware_Peek() {
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerDay(2)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	visit(m.Handler(hello), "/") // from 192.0.2.1
	for range 2 {
		v, err := m.Peek(context.Background(), "ip", "192.0.2.1")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(v.Allowed, v.Remaining)
	}
	// Output:
	// true 1
	// true 1
}

// An operator looks where a customer stands whose plan is not the rule's Limit.
func ExampleMiddleware_PeekLimit() {
	pro := limiter.PerDay(1000)
	m := httplimit.Must(httplimit.New(httplimit.Config{Rules: []httplimit.Rule{{
		Name: "plan", Key: httplimit.ContextValue(tenantKey{}), Limit: limiter.PerMinute(10), Plans: []limiter.Limit{pro},
		LimitFunc: func(*http.Request) (limiter.Limit, error) { return pro, nil }, // from the tenants' database
	}}}))
	show(authenticate(m.Handler(hello)), "Authorization", "Bearer t0k3n") // acme's
	v, err := m.PeekLimit(context.Background(), "plan", pro, "acme")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.Remaining, "of", v.Limit, "by", v.Source)
	// Output:
	// 200
	// 999 of 1000/d by store
}

// A page that tells users their quota, by their own plan. It costs them nothing to look: it stands beside the limiter.
func ExampleMiddleware_PeekRequest() {
	m := httplimit.Must(httplimit.New(httplimit.Config{Rules: []httplimit.Rule{{
		Name: "plan", Key: httplimit.ContextValue(tenantKey{}), Limit: limiter.PerMinute(10),
		Plans:     []limiter.Limit{limiter.PerDay(1000)},
		LimitFunc: func(*http.Request) (limiter.Limit, error) { return limiter.PerDay(1000), nil },
	}}}))
	mux := http.NewServeMux()
	mux.Handle("GET /reports", m.Handler(hello))
	mux.HandleFunc("GET /me/quota", func(w http.ResponseWriter, r *http.Request) {
		verdicts, err := m.PeekRequest(r)
		if err != nil {
			http.Error(w, "not known right now", http.StatusServiceUnavailable) // the error is for the log
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_ = json.NewEncoder(w).Encode(verdicts) // a client that has left is no fault of ours
	})
	h := authenticate(mux)
	get := func(path string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Authorization", "Bearer t0k3n")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	get("/reports")
	get("/me/quota")
	var quota []httplimit.Verdict // as a client in Go reads it; a script finds durations in milliseconds
	if err := json.Unmarshal(get("/me/quota").Body.Bytes(), &quota); err != nil {
		log.Fatal(err)
	}
	fmt.Println(quota[0].Rule, quota[0].Limit, quota[0].Remaining, quota[0].Source)
	// Output: plan 1000/d 999 store
}

// An operator unblocks a client.
func ExampleMiddleware_Reset() {
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerDay(1)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	h := m.Handler(hello)
	fmt.Println(visit(h, "/").Code, visit(h, "/").Code)
	if err := m.Reset(context.Background(), "ip", "192.0.2.1"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(visit(h, "/").Code)
	// Output:
	// 200 429
	// 200
}
