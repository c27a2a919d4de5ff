package redisstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// A round trip that comes near the time-out is told once, with both numbers. One slow call is none.
func TestWarnsOfADistantServer(t *testing.T) {
	for name, tc := range map[string]struct {
		takes func(call int) time.Duration
		want  int
	}{
		"near":             {func(int) time.Duration { return time.Millisecond }, 0},
		"now and then far": {func(call int) time.Duration { return time.Duration(1+call%10*4) * time.Millisecond }, 0},
		"far":              {func(int) time.Duration { return 30 * time.Millisecond }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(true, func(_ context.Context, call int) error {
					time.Sleep(tc.takes(call))
					return nil
				})
				var log bytes.Buffer
				b.contact = &contact{notices: &notices{logger: slog.New(slog.NewTextHandler(&log, nil))}}
				b.contact.met.Store(true)
				for i := range 4 * trips {
					if err := b.ask(t.Context(), fmt.Sprint(i)); err != nil {
						t.Fatal(err)
					}
				}
				if got := strings.Count(log.String(), "round_trip=30ms timeout=50ms"); got != tc.want {
					t.Errorf("got %q, want %d lines with both numbers", log.String(), tc.want)
				}
			})
		})
	}
}

// Who waits behind a flight to a distant server has no time left for it: more flights go, and sooner.
func TestPaceOfADistantServer(t *testing.T) {
	for _, tc := range []struct {
		roundTrip   time.Duration
		connections int
		late        time.Duration
		flights     int
	}{
		{0, 0, testTimeout / lateShare, maxFlights},
		{time.Millisecond, 10, testTimeout / lateShare, maxFlights},
		{20 * time.Millisecond, 10, testTimeout / lateShare, maxFlights},
		{40 * time.Millisecond, 0, 2500 * time.Microsecond, 17},
		{40 * time.Millisecond, 100, 2500 * time.Microsecond, 17},
		{40 * time.Millisecond, 10, 4 * time.Millisecond, 11}, // one more takes the connection of the first
		{40 * time.Millisecond, 1, testTimeout / lateShare, 7},
		{time.Second, 0, testTimeout / 64, mostFlights},
	} {
		p := &pace{connections: tc.connections}
		p.set(tc.roundTrip)
		if late, flights := p.late(testTimeout), p.flights(testTimeout); late != tc.late || flights != tc.flights {
			t.Errorf("round trip %v, %d connections: late after %v, %d flights, want %v, %d",
				tc.roundTrip, tc.connections, late, flights, tc.late, tc.flights)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBench(false, takes(40*time.Millisecond))
		b.pace = &pace{}
		b.pace.set(40 * time.Millisecond)
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				if err := b.ask(t.Context(), fmt.Sprint(i)); err != nil {
					t.Errorf("caller %d: %v", i, err)
				}
			})
			time.Sleep(time.Millisecond)
		}
		all.Wait()
		b.idle(t)
	})
}

// An answer of a distant server that comes a little late finds no caller any more, but its connection is kept: the next
// call would have no time to make another. Near by, a call ends with its callers.
func TestLateAnswerOfADistantServer(t *testing.T) {
	for _, tc := range []struct{ roundTrip, answered, callEnds time.Duration }{
		{time.Millisecond, 0, testTimeout},
		{40 * time.Millisecond, 90 * time.Millisecond, 2 * testTimeout},
	} {
		t.Run(tc.roundTrip.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				b := newBench(true, func(ctx context.Context, _ int) error {
					deadline, _ := ctx.Deadline()
					if got := deadline.Sub(start); got != tc.callEnds {
						t.Errorf("the answer is read for %v, want %v", got, tc.callEnds)
					}
					time.Sleep(min(time.Until(deadline), 90*time.Millisecond))
					if !time.Now().Before(deadline) {
						return context.DeadlineExceeded // and go-redis drops the connection
					}
					return nil
				})
				b.pace = &pace{}
				b.pace.set(tc.roundTrip)
				b.contact = &contact{clock: b.clock, pace: b.pace, timeout: testTimeout}
				b.contact.met.Store(true)
				b.contact.looking.Store(true)
				b.contact.far.Store(true)
				zero := b.clock.Now()
				err := b.ask(t.Context(), "a")
				if took := time.Since(start); took != testTimeout || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the caller got %v after %v, want the end of its time after %v", err, took, testTimeout)
				}
				time.Sleep(testTimeout)
				synctest.Wait()
				if got := time.Duration(b.contact.answered.Load()); got != 0 && got-zero != tc.answered ||
					(got != 0) != (tc.answered != 0) {
					t.Errorf("answered after %v, want %v", got, tc.answered)
				}
				if got := b.contact.answeredLately(); got != (tc.answered != 0) {
					t.Errorf("answered lately: got %v", got)
				}
				b.idle(t)
			})
		})
	}
}

// A process with much to do when it begins takes its server for a distant one, until some flights were faster.
func TestServerIsNotTakenForDistantForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(true, takes(time.Millisecond))
		b.pace = &pace{}
		b.pace.set(20 * time.Millisecond)
		b.contact = &contact{}
		b.contact.met.Store(true)
		for i := range trips {
			if !b.pace.far(testTimeout) {
				t.Fatalf("after %d flights: not far, want that only after %d", i, trips)
			}
			if err := b.ask(t.Context(), fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		if b.pace.far(testTimeout) {
			t.Errorf("after %d flights of a millisecond the server is still taken to be far", trips)
		}
	})
}

// Addresses come and go, as those of a Cluster in containers do. What the topology no longer names is forgotten.
func TestServersDoNotPileUp(t *testing.T) {
	now := 0
	client := func(n int) *redis.Client {
		c := redis.NewClient(&redis.Options{Addr: fmt.Sprintf("10.0.%d.%d:6379", n>>8, n&255)})
		t.Cleanup(func() { c.Close() })
		return c
	}
	current := []*redis.Client{client(0), client(1)}
	clock := storekit.NewClock(nil)
	s := &servers{
		named: func(_ context.Context, key string) (*redis.Client, error) { return current[len(key)%2], nil },
		newBatcher: func(c *redis.Client, _ func(context.Context) error) *batcher {
			b := &batcher{clock: clock, timeout: testTimeout, breaker: storekit.NewBreaker(testTimeout), contact: &contact{}}
			b.contact.client.Store(c)
			return b
		},
	}
	s.first = s.newBatcher(nil, nil)
	for now = range 500 {
		current[now%2] = client(now)
		for _, key := range []string{"a", "bb"} {
			b := s.of(t.Context(), &batch{keys: []string{key}})
			b.sample = key
			if now%3 == 0 { // and is down when it goes
				fail(b)
			}
		}
		known := 0
		s.each(func(string, *batcher) { known++ })
		if known > 2 {
			t.Fatalf("after %d addresses the store keeps %d, want 2", now, known)
		}
	}
	current = []*redis.Client{client(1000), client(1001)}
	if !s.healthy() {
		t.Error("not healthy, because of servers that are gone")
	}
	b := s.of(t.Context(), &batch{keys: []string{"a"}})
	b.sample = "a"
	fail(b)
	if s.healthy() {
		t.Error("healthy, although a server that the topology names is down")
	}
}

func fail(b *batcher) {
	for i := range 5 {
		permit, _ := b.breaker.Begin(time.Duration(i) * testTimeout)
		b.breaker.End(permit, time.Duration(i)*testTimeout, storekit.Failed, errors.New("down"))
	}
}

func TestStatsOfFlights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := false
		b := newBench(true, func(context.Context, int) error {
			time.Sleep(time.Millisecond)
			if down {
				return errors.New("down")
			}
			return nil
		})
		b.breaker = storekit.NewBreaker(testTimeout)
		crowd := func(n int) {
			var all sync.WaitGroup
			for i := range n {
				all.Go(func() { _ = b.ask(t.Context(), fmt.Sprint(i)) })
			}
			synctest.Wait()
			if got := b.stats("").Waiting; got != int64(n) {
				t.Errorf("waiting: got %d, want %d", got, n)
			}
			all.Wait()
		}
		crowd(1)
		crowd(4) // one, and three together
		down = true
		crowd(1)
		got := b.stats("server:6379")
		want := limiter.ServerStats{Address: "server:6379", Healthy: true, Since: got.Since, Calls: 4, Failed: 1, Callers: 6}
		want.FlightSizes[0], want.FlightSizes[2] = 3, 1
		if got != want || got.Since.IsZero() {
			t.Errorf("got  %+v,\nwant %+v", got, want)
		}
	})
}

// A leader whose own deadline is sooner than that of its flight leaves in time, and the others get their answer.
func TestEveryCallerKeepsItsDeadline(t *testing.T) {
	each(t, func(t *testing.T, inline bool) {
		b := newBench(inline, takes(20*time.Millisecond))
		var all sync.WaitGroup
		all.Go(func() { _ = b.ask(t.Context(), "first") })
		synctest.Wait()
		for i := range 3 { // the first of them leads
			all.Go(func() {
				const soon = 10 * time.Millisecond
				ctx, own := t.Context(), i == 0
				if own {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, soon)
					defer cancel()
				}
				start := b.clock.Now()
				err := b.ask(ctx, fmt.Sprint(i))
				if took := b.clock.Now() - start; own && (took > soon || !errors.Is(err, context.DeadlineExceeded)) {
					t.Errorf("the leader left after %v with %v, want its own end after %v", took, err, soon)
				}
				if !own && err != nil {
					t.Errorf("another in the flight: %v", err)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		b.idle(t)
	})
}
