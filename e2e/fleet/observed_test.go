package fleet_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
	"github.com/redis/go-redis/v9"
)

// sums adds up what an Observer is told.
type sums struct {
	mu               sync.Mutex
	requests, passed int
	asked            int            // the store, as its time says
	decisions        map[string]int // by rule and result
}

func (s *sums) Observe(_ context.Context, o *httplimit.Observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if o.Status == 0 {
		s.passed++
	}
	if o.Store > 0 {
		s.asked++
	}
	for i := range o.Rules {
		s.decisions[o.Rules[i].Rule+" "+o.Rules[i].Result.String()]++
	}
}

// What two instances tell of requests that deny caches answer adds up, and tells what Redis has counted.
func TestObservationsAddUp(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: servers.Redis(t).Addr(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	const requests, limit, shadowed = 400, 7, 3
	seen := &sums{decisions: make(map[string]int)}
	var instances []http.Handler
	for range 2 {
		m, err := httplimit.New(httplimit.Config{
			Store: newStore(t, client, redisstore.Config{}), Observer: seen,
			Rules: []httplimit.Rule{
				{Name: "shadow", Key: httplimit.Everyone(), Limit: limiter.Per(shadowed, still), Shadow: true},
				{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.Per(limit, still)},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		instances = append(instances, m.Handler(http.NotFoundHandler()))
	}
	var wg sync.WaitGroup
	for caller := range 16 {
		wg.Go(func() {
			for range requests / 16 {
				instances[caller%2].ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
			}
		})
	}
	wg.Wait()
	d := seen.decisions
	if seen.requests != requests || seen.passed != limit || d["ip allowed"] != limit || d["ip refused"] != requests-limit {
		t.Errorf("got %d requests, %d passed, %v, want %d and %d", seen.requests, seen.passed, d, requests, limit)
	}
	judged := d["shadow allowed"] + d["shadow shadow_refused"]
	if judged+d["shadow unjudged"] != requests || d["shadow allowed"] != shadowed {
		t.Errorf("got %v of the shadow rule, want %d in all, %d of them allowed", d, requests, shadowed)
	}
	if judged != seen.asked || d["shadow unjudged"] == 0 {
		t.Errorf("the shadow rule was judged %d times and Redis asked %d times, want as many, and some unjudged: %v",
			judged, seen.asked, d)
	}
}
