package browser_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"sync"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/console"
	"github.com/httplimit/httplimit/e2e/browser"
	"github.com/httplimit/httplimit/limiter"
)

// refusedClients is what the page's JSON says of one rule.
type refusedClients struct {
	Clients []struct {
		Key                  string
		Least, Most, Dropped uint64
	}
	Counted, Dropped, Unlisted uint64
}

// TestConsoleInAFlood: a million clients are refused once each, and a few among them often. The page stays within its
// memory, and what it says of clients is true within the bounds that it states.
func TestConsoleInAFlood(t *testing.T) {
	page, err := console.New(console.Config{Viewer: console.LocalOnly})
	if err != nil {
		t.Fatal(err)
	}
	m, err := httplimit.New(httplimit.Config{Observer: page, Rules: []httplimit.Rule{
		{Name: "flood", Key: httplimit.Header("X-Customer"), Limit: limiter.PerDay(0)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	page.Watch(m)
	mux := http.NewServeMux()
	mux.Handle("/ops/limits/", page)
	server := httptest.NewServer(mux)
	defer server.Close()
	defer page.Close()

	before := heap()
	exact := flood(t, m)
	if grown := int64(heap()) - int64(before); grown > 1<<20 {
		t.Errorf("the heap has grown by %d bytes, want 1 MB a rule at most", grown)
	}

	var rules struct{ Rules []struct{ ID string } }
	ask(t, server.URL+"/ops/limits/api/overview.json", &rules)
	var rule struct{ RefusedClients refusedClients }
	ask(t, server.URL+"/ops/limits/api/rule.json?id="+rules.Rules[0].ID, &rule)
	checkBounds(t, rule.RefusedClients, exact)

	p := browser.Start(t).Open(t, server.URL+"/ops/limits/", browser.Look{})
	shows(t, p, "#refused", "customer 19") // who was refused most
	shows(t, p, "#figures", "flood")
	none(t, "fault", p.Faults())
}

// flood has a million customers refused once each, and twenty of them 2,000 to 11,500 times more, by two goroutines. It
// returns how often each of the twenty was.
func flood(t *testing.T, m *httplimit.Middleware) map[string]uint64 {
	t.Helper()
	const many, often = 1_000_000, 20
	exact := make(map[string]uint64)
	var extra []int
	for i := range often {
		n := 2000 + 500*i
		exact[fmt.Sprint("customer ", i)] = uint64(n) + 1
		for range n {
			extra = append(extra, i)
		}
	}
	dice := rand.New(rand.NewPCG(1, 2))
	dice.Shuffle(len(extra), func(i, j int) { extra[i], extra[j] = extra[j], extra[i] })
	h := m.Handler(http.NotFoundHandler())
	var group sync.WaitGroup
	for half := range 2 {
		group.Go(func() {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			refuse := func(customer int) {
				r.Header["X-Customer"] = []string{fmt.Sprint("customer ", customer)}
				h.ServeHTTP(discard{}, r)
			}
			for i := half; i < many; i += 2 {
				refuse(i)
				if i%5 == 0 && i/5 < len(extra) {
					refuse(extra[i/5])
				}
			}
		})
	}
	group.Wait()
	return exact
}

// checkBounds holds what the page lists against the exact counts: those of all others are 1.
func checkBounds(t *testing.T, got refusedClients, exact map[string]uint64) {
	t.Helper()
	listed := make(map[string]bool)
	for _, c := range got.Clients {
		name, _ := url.PathUnescape(c.Key) // a stored key has its space as %20
		want := max(exact[name], 1)
		if want < c.Least || want > c.Most+c.Dropped {
			t.Errorf("%s was refused %d times, and the page says %d to %d, %d dropped", name, want, c.Least, c.Most, c.Dropped)
		}
		listed[name] = true
	}
	for name, n := range exact {
		if !listed[name] && n > got.Unlisted+got.Dropped {
			t.Errorf("%s was refused %d times and is not listed; the page says %d at most, %d dropped",
				name, n, got.Unlisted, got.Dropped)
		}
	}
	if !listed["customer 19"] {
		t.Errorf("who was refused most is not listed: %+v", got)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func ask(t *testing.T, address string, into any) {
	t.Helper()
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", address, response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

// discard is a ResponseWriter that keeps nothing.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
