package shop

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// Traffic sends requests to the shop, in this process, until ctx ends.
func (s *Shop) Traffic(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for _, who := range []func(context.Context, time.Duration){s.customers, s.scraper, s.guesser, s.wild, s.exports} {
		all.Go(func() {
			const step = 50 * time.Millisecond
			ticks := time.NewTicker(step)
			defer ticks.Stop()
			for began := time.Now(); ; {
				select {
				case <-ctx.Done():
					return
				case <-ticks.C:
					who(ctx, time.Since(began))
				}
			}
		})
	}
}

// send is one request of a client.
func (s *Shop) send(ctx context.Context, address, method, path string, set func(*http.Request)) {
	r := httptest.NewRequestWithContext(ctx, method, "http://shop.example"+path, nil)
	r.RemoteAddr = address + ":1234"
	if set != nil {
		set(r)
	}
	s.limited.ServeHTTP(httptest.NewRecorder(), r)
}

// wave goes up and down between 0 and 1.
func wave(t, period time.Duration) float64 {
	return 0.5 - 0.5*math.Cos(2*math.Pi*t.Seconds()/period.Seconds())
}

// sometimes is true so often that it is n times a second, asked every 50 ms.
func sometimes(n float64) bool { return rand.Float64() < n/20 }

// customers look around, some of them more than others.
func (s *Shop) customers(ctx context.Context, t time.Duration) {
	for range 2 + int(4*wave(t, 4*time.Minute)+2*rand.Float64()) {
		address := fmt.Sprintf("198.51.100.%d", int(250*math.Pow(rand.Float64(), 2)))
		path := []string{"/", "/", "/", "/search", "/search", "/basket", "/checkout"}[rand.IntN(7)]
		s.send(ctx, address, http.MethodGet, path, nil)
	}
}

// scraper reads all pages as fast as it can, for some minutes, from a network of IPv6.
func (s *Shop) scraper(ctx context.Context, t time.Duration) {
	if wave(t+40*time.Second, 5*time.Minute) > 0.4 {
		for range 1 + rand.IntN(3) {
			s.send(ctx, "[2001:db8:7:1::"+fmt.Sprintf("%x", rand.IntN(9000)+1)+"]", http.MethodGet, "/search", nil)
		}
	}
	if sometimes(6) {
		s.send(ctx, "203.0.113.99", http.MethodGet, "/", nil)
	}
}

// guesser tries passwords of a few names.
func (s *Shop) guesser(ctx context.Context, t time.Duration) {
	if sometimes(1.5 * wave(t+90*time.Second, 7*time.Minute)) {
		user := []string{"admin", "alice@example.com", "root", "bob"}[rand.IntN(4)]
		s.send(ctx, "203.0.113.7", http.MethodPost, "/login", func(r *http.Request) { r.SetBasicAuth(user, "guess") })
	}
	if sometimes(0.3) {
		address := fmt.Sprintf("198.51.100.%d", rand.IntN(250))
		s.send(ctx, address, http.MethodPost, "/login", func(r *http.Request) { r.SetBasicAuth("user"+address[11:], "typo") })
	}
}

// wild is a customer's program that retries without waiting, now and then, beside those of others.
func (s *Shop) wild(ctx context.Context, t time.Duration) {
	key := func(name string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("X-Api-Key", "key of "+name) }
	}
	if wave(t, 3*time.Minute) > 0.75 {
		s.send(ctx, "192.0.2.80", http.MethodGet, "/api/orders", key("wild"))
	}
	if sometimes(9) {
		n := rand.IntN(12)
		s.send(ctx, fmt.Sprintf("192.0.2.%d", n), http.MethodGet, "/api/orders", key(fmt.Sprint("customer ", n)))
	}
}

// exports take a while: more than two at once are too many for a customer.
func (s *Shop) exports(ctx context.Context, t time.Duration) {
	if sometimes(1.2 * wave(t, 2*time.Minute)) {
		go s.send(ctx, "192.0.2.3", http.MethodGet, "/export", func(r *http.Request) {
			r.Header.Set("X-Api-Key", "key of customer 3")
		})
	}
}
