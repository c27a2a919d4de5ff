package frameworks_test

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

const clients, requestsEach = 50, 10

// Concurrent clients, each with keys of its own that are found in four ways, on connections that they share: each
// client is counted for its own requests and for no others.
func TestParallelClientsAreNotMixedUp(t *testing.T) {
	for _, f := range frameworks() {
		t.Run(f.name, func(t *testing.T) {
			store, m := manyKeys(t)
			at := listen(t, "tcp4")
			f.serve(t, at, app{onRoute: []*httplimit.Middleware{m}, item: byID, left: func() {}})
			client := dial(t, at)
			start := make(chan struct{})
			var all sync.WaitGroup
			for i := range clients {
				all.Go(func() {
					<-start
					for n := range requestsEach {
						if err := visit(client, i, n); err != nil {
							t.Errorf("client %d, request %d: %v", i, n, err)
							return
						}
					}
				})
			}
			close(start)
			all.Wait()
			checkCounted(t, store.noted())
		})
	}
}

// manyKeys returns a Middleware whose rules all count each client on its own.
func manyKeys(t *testing.T) (*recorder, *httplimit.Middleware) {
	t.Helper()
	counts, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	store := record(counts)
	limit := limiter.Per(requestsEach, year)
	proxy := netip.MustParsePrefix("127.0.0.0/8")
	m, err := httplimit.New(httplimit.Config{Store: store, Expose: true, Logger: slog.New(slog.DiscardHandler),
		Rules: []httplimit.Rule{
			{Name: "header", Limit: limit, Key: httplimit.Header("X-Client")},
			{Name: "address", Limit: limit, Key: httplimit.ClientIP(proxy), Private: true},
			{Name: "function", Limit: limit, Key: httplimit.KeyFunc(item), Private: true},
			{Name: "returned", Limit: limit, Key: httplimit.Compose(httplimit.Header("X-Client"), httplimit.ClientIP(proxy)),
				Private:     true,
				CountStatus: func(int) bool { return false }},
		}})
	if err != nil {
		t.Fatal(err)
	}
	return store, m
}

// name is who a client is. The names are of different lengths, so that what is left of one in a buffer shows.
func name(i int) string { return "c" + strings.Repeat(string(rune('a'+i%26)), i) + fmt.Sprint(i) }

// visit sends a request and checks that it is the nth of its client.
func visit(client *http.Client, i, n int) error {
	r, err := http.NewRequest(http.MethodGet, host+"/items/"+name(i), nil)
	if err != nil {
		return err
	}
	r.Header.Set("X-Client", name(i))
	r.Header["X-Forwarded-For"] = []string{"203.0.113.9", fmt.Sprintf("198.51.100.%d", i)}
	answer, body, err := send(client, r)
	if err != nil {
		return err
	}
	left := fmt.Sprintf(`"header";r=%d;`, requestsEach-1-n)
	if got := answer.Header.Get("RateLimit"); answer.StatusCode != http.StatusOK || body != "item "+name(i) ||
		!strings.HasPrefix(got, left) {
		return fmt.Errorf("got %s %q with RateLimit %s, want its own item and %s", answer.Status, body, got, left)
	}
	return nil
}

func checkCounted(t *testing.T, asked []string) {
	t.Helper()
	got, want := map[string]int{}, map[string]int{}
	for _, batch := range asked {
		for charge := range strings.SplitSeq(batch, ", ") {
			got[charge]++
		}
	}
	for i := range clients {
		want["take /header "+name(i)+" 1"] = requestsEach
		want[fmt.Sprintf("take /address 198.51.100.%d 1", i)] = requestsEach
		want["take /function "+name(i)+" 1"] = requestsEach
		want[fmt.Sprintf("take /returned %s:198.51.100.%d 1", name(i), i)] = requestsEach
		want[fmt.Sprintf("take /returned %s:198.51.100.%d -1", name(i), i)] = requestsEach
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %d kinds of charges, want %d", len(got), len(want))
	}
}
