package httplimit_test

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// An answer of one's own. The header fields, Retry-After among them, are set already.
func ExampleConfig_onDeny() {
	m, err := httplimit.New(httplimit.Config{
		Rules: []httplimit.Rule{{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerDay(1)}},
		OnDeny: func(w http.ResponseWriter, r *http.Request, d httplimit.Denial) {
			w.WriteHeader(d.Status)
			for _, v := range d.Rules { // Private rules are not among them
				fmt.Fprintf(w, "No more than %v, please.", v.Limit)
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	h := m.Handler(hello)
	visit(h, "/")
	w := visit(h, "/")
	fmt.Println(w.Code, w.Header().Get("Retry-After") != "", w.Body)
	// Output: 429 true No more than 1/d, please.
}

// The default answer for programs, a page for browsers.
func ExampleDenial_ServeHTTP() {
	m, err := httplimit.New(httplimit.Config{
		Rules: []httplimit.Rule{{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerDay(1)}},
		OnDeny: func(w http.ResponseWriter, r *http.Request, d httplimit.Denial) {
			if r.Header.Get("Accept") != "text/html" {
				d.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(d.Status)
			fmt.Fprint(w, "<p>Too fast. Please wait.</p>")
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	h := m.Handler(hello)
	visit(h, "/")
	for _, accept := range []string{"*/*", "text/html"} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("Content-Type"))
	}
	// Output:
	// 429 application/problem+json
	// 429 text/html; charset=utf-8
}

// A page that names the rule: d.Rules[0] would panic where it is Private.
func ExampleDenial_Rule() {
	m, err := httplimit.New(httplimit.Config{
		Rules: []httplimit.Rule{{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerDay(1), Private: true}},
		OnDeny: func(w http.ResponseWriter, r *http.Request, d httplimit.Denial) {
			w.WriteHeader(d.Status)
			if rule, named := d.Rule(); named {
				fmt.Fprintf(w, "No more than %v, please.", rule.Limit)
				return
			}
			fmt.Fprint(w, "Too many requests.")
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	h := m.Handler(hello)
	visit(h, "/")
	fmt.Println(visit(h, "/").Body)
	// Output: Too many requests.
}

// A handler that limits by what only it knows answers like the middleware, with Retry-After.
func ExampleVerdict_Denied() {
	unknown := httplimit.KeyFunc(func(*http.Request) (string, error) { return "", httplimit.ErrSkip })
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "login", Key: unknown, Limit: limiter.PerDay(1), Private: true},
	}})
	if err != nil {
		log.Fatal(err)
	}
	h := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := m.Allow(r.Context(), "login", r.URL.Query().Get("user"))
		if err != nil { // the rule has FailClosed, and the store is away
			httplimit.Denial{Status: http.StatusServiceUnavailable, RetryAfter: time.Second}.ServeHTTP(w, r)
			return
		}
		if d, denied := v.Denied(); denied {
			d.ServeHTTP(w, r)
			return
		}
		fmt.Fprintln(w, "welcome")
	}))
	for range 2 {
		w := visit(h, "/?user=ann")
		fmt.Println(w.Code, w.Header().Get("Retry-After") != "", w.Header().Get("Content-Type"))
	}
	// Output:
	// 200 false text/plain; charset=utf-8
	// 429 true application/problem+json
}

// The body of the default answer, for frameworks that write JSON in a way of their own.
func ExampleDenial_MarshalJSON() {
	d := httplimit.Denial{
		Status:     http.StatusTooManyRequests,
		RetryAfter: time.Second,
		Rules:      []httplimit.Verdict{{Rule: "ip", Limit: limiter.PerMinute(100)}},
	}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
	// Output:
	// {
	//   "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
	//   "title": "Request cannot be satisfied as assigned quota has been exceeded",
	//   "status": 429,
	//   "violated-policies": [
	//     "ip"
	//   ],
	//   "limits": [
	//     {
	//       "policy": "ip",
	//       "quota": 100,
	//       "window": 60
	//     }
	//   ],
	//   "retry_after": 1
	// }
}
