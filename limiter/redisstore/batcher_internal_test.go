package redisstore

import (
	"context"
	"errors"
	"hash/maphash"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/storekit"
)

const testTimeout = 50 * time.Millisecond

// bench is a batcher over a server that is a function. Time stands still but where the test lets it pass.
type bench struct {
	*batcher
	mu    sync.Mutex
	calls [][]*batch // in the order in which they were sent
}

func newBench(inline bool, serve func(ctx context.Context, call int) error) *bench {
	b := &bench{batcher: &batcher{
		clock: storekit.NewClock(nil), timeout: testTimeout, inline: inline, seed: maphash.MakeSeed(),
	}}
	b.send = func(ctx context.Context, batches []*batch) []outcome {
		b.mu.Lock()
		b.calls = append(b.calls, batches)
		number := len(b.calls)
		b.mu.Unlock()
		err := serve(ctx, number)
		outcomes := make([]outcome, len(batches))
		for i, batch := range batches {
			outcomes[i] = outcome{values: []any{batch.keys[0]}, err: err}
		}
		return outcomes
	}
	return b
}

// takes is a server that needs so long for every call.
func takes(d time.Duration) func(context.Context, int) error {
	return func(context.Context, int) error {
		time.Sleep(d)
		return nil
	}
}

func (b *bench) batch(key string) *batch {
	return &batch{start: b.clock.Now(), keys: []string{key}, wake: make(chan *flight, 1)}
}

// ask has a batch of one key decided, and checks that the answer is its own.
func (b *bench) ask(ctx context.Context, key string) error {
	batch := b.batch(key)
	if err := b.do(ctx, batch); err != nil {
		return err
	}
	if got := batch.outcome.values[0]; got != key {
		return errors.New("answer of " + got.(string) + " went to " + key)
	}
	return nil
}

// sent returns how many batches were in each call.
func (b *bench) sent() []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	sizes := make([]int, len(b.calls))
	for i := range b.calls {
		sizes[i] = len(b.calls[i])
	}
	return sizes
}

// idle checks that the batcher holds on to nothing when nobody asks.
func (b *bench) idle(t *testing.T) {
	t.Helper()
	b.batcher.mu.Lock()
	defer b.batcher.mu.Unlock()
	if len(b.batcher.flights) != 0 || len(b.waiting) != 0 {
		t.Errorf("the batcher holds %d flights and %d callers, want none", len(b.batcher.flights), len(b.waiting))
	}
}

// each runs a test with a client that heeds deadlines, whose leader makes the call itself, and with one that does not.
func each(t *testing.T, test func(t *testing.T, inline bool)) {
	for name, inline := range map[string]bool{"inline": true, "in a goroutine": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, inline) })
		})
	}
}

func TestCallersShareFlights(t *testing.T) {
	each(t, func(t *testing.T, inline bool) {
		const flight = time.Millisecond / 2
		b := newBench(inline, takes(flight))
		if err := b.ask(t.Context(), "alone"); err != nil {
			t.Fatal(err)
		}
		start := b.clock.Now()
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				if err := b.ask(t.Context(), strconv.Itoa(i)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		// The first goes at once, the next as soon as they are enough for a flight beside it, with those who came before
		// it was sent, and the others in as few flights as their number of keys allows. Of the first two, which are under
		// way together, either may be sent first.
		got, all := b.sent(), 0
		slices.Sort(got[1:3])
		for _, n := range got {
			all += n
		}
		if got[1] != 1 || got[2] < enough || slices.Max(got) > maxKeys || len(got) > 5 || all != 201 {
			t.Errorf("batches in each flight: got %v, want 1, 1, at least %d, and at most two more, of %d together",
				got, enough, 201)
		}
		if got, want := b.clock.Now()-start, 2*flight; got != want {
			t.Errorf("took %v, want %v", got, want)
		}
		b.idle(t)
	})
}

func TestSlowFlightHoldsNobodyElse(t *testing.T) {
	each(t, func(t *testing.T, inline bool) {
		b := newBench(inline, func(_ context.Context, call int) error {
			if call == 1 {
				time.Sleep(testTimeout - time.Millisecond)
			}
			return nil
		})
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := b.ask(t.Context(), "slow"); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		// The first comes while the flight is not late yet, and no other caller comes to take it along.
		for i, want := range []time.Duration{testTimeout / lateShare, 0} {
			start := b.clock.Now()
			if err := b.ask(t.Context(), strconv.Itoa(i)); err != nil {
				t.Error(err)
			}
			if got := (b.clock.Now() - start).Truncate(time.Microsecond); got != want {
				t.Errorf("caller %d waited %v behind a slow flight, want %v", i, got, want)
			}
		}
		if got, want := b.sent(), []int{1, 1, 1}; !slices.Equal(got, want) {
			t.Errorf("batches in each flight: got %v, want %v", got, want)
		}
		wg.Wait()
		b.idle(t)
	})
}

// clientWith returns a client with so many connections, on which nobody answers.
func clientWith(t *testing.T, connections int) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{
		Addr:         "192.0.2.1:6379",
		MinIdleConns: connections,
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			near, _ := net.Pipe()
			return near, nil
		},
	})
	t.Cleanup(func() { _ = client.Close() })
	synctest.Wait()
	if got := int(client.PoolStats().TotalConns); got != connections {
		t.Fatalf("got %d connections, want %d", got, connections)
	}
	return client
}

// The alarm of a caller who waits may have rung while there were as many flights as connections. When one of them has
// ended, the caller waits for the other no longer than until that is late.
func TestSlowFlightHoldsNobodyWhenAnotherEnds(t *testing.T) {
	each(t, func(t *testing.T, inline bool) {
		b := newBench(inline, func(_ context.Context, call int) error {
			switch call {
			case 1:
				time.Sleep(testTimeout/lateShare + time.Millisecond/2)
			case 2:
				time.Sleep(testTimeout - 2*time.Millisecond)
			}
			return nil
		})
		b.pace = new(pace)
		b.pace.set(testTimeout/farShare + time.Millisecond)
		b.contact = &contact{pace: b.pace, timeout: testTimeout}
		b.contact.met.Store(true)
		b.contact.client.Store(clientWith(t, 2))
		var wg sync.WaitGroup
		ask := func(key string) time.Duration {
			start := b.clock.Now()
			if err := b.ask(t.Context(), key); err != nil {
				t.Error(err)
			}
			return b.clock.Now() - start
		}
		wg.Go(func() { ask("first") })
		synctest.Wait()
		time.Sleep(time.Millisecond)
		for i := range enough {
			wg.Go(func() { ask(strconv.Itoa(i)) }) // the last of them leads a second flight, which is slow
		}
		synctest.Wait()
		if got, want := ask("behind both"), testTimeout/lateShare; got > want {
			t.Errorf("waited %v behind a slow flight, want at most %v", got, want)
		}
		wg.Wait()
		b.idle(t)
	})
}

// Callers that wait behind a slow flight, more than fit in one flight, all go long before it ends.
func TestManyBehindASlowFlight(t *testing.T) {
	each(t, func(t *testing.T, inline bool) {
		b := newBench(inline, func(_ context.Context, call int) error {
			if call == 1 {
				time.Sleep(testTimeout - time.Millisecond)
			}
			return nil
		})
		var slow, others sync.WaitGroup
		slow.Go(func() { _ = b.ask(t.Context(), "slow") })
		synctest.Wait()
		start := b.clock.Now()
		for i := range 2 * maxKeys {
			others.Go(func() {
				if err := b.ask(t.Context(), strconv.Itoa(i)); err != nil {
					t.Error(err)
				}
			})
		}
		others.Wait()
		// The last may be too few for a flight at once.
		if got, most := (b.clock.Now() - start).Truncate(time.Microsecond), testTimeout/lateShare; got > most {
			t.Errorf("waited %v behind a slow flight, want at most %v", got, most)
		}
		sent := 0
		for _, size := range b.sent() {
			if size > maxKeys {
				t.Errorf("a flight had %d batches, want at most %d", size, maxKeys)
			}
			sent += size
		}
		if want := 1 + 2*maxKeys; sent != want {
			t.Errorf("flights had %d batches, want %d", sent, want)
		}
		slow.Wait()
		b.idle(t)
	})
}

func TestFlightsUnderWayAreBounded(t *testing.T) {
	each(t, func(t *testing.T, inline bool) {
		b := newBench(inline, takes(testTimeout/2))
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() { _ = b.ask(t.Context(), strconv.Itoa(i)) })
			time.Sleep(testTimeout / lateShare)
		}
		b.batcher.mu.Lock()
		if got := len(b.batcher.flights); got > maxFlights {
			t.Errorf("%d flights are under way, want at most %d", got, maxFlights)
		}
		b.batcher.mu.Unlock()
		wg.Wait()
		b.idle(t)
	})
}

func TestSlowServerServesTwoAtOnce(t *testing.T) {
	each(t, func(t *testing.T, inline bool) {
		b := newBench(inline, takes(testTimeout*3/5))
		for i := range 4 {
			if err := b.ask(t.Context(), strconv.Itoa(i)); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		for i := range 2 {
			wg.Go(func() {
				if err := b.ask(t.Context(), strconv.Itoa(i)); err != nil {
					t.Errorf("caller %d, whose flight could not wait for another: %v", i, err)
				}
			})
		}
		wg.Wait()
	})
}

func TestNobodyWaitsBeyondTheTimeout(t *testing.T) {
	each(t, func(t *testing.T, inline bool) {
		gone := make(chan struct{})
		b := newBench(inline, func(ctx context.Context, _ int) error {
			if inline { // in its caller's goroutine a client must heed deadlines
				<-ctx.Done()
				return ctx.Err()
			}
			<-gone
			return nil
		})
		var wg sync.WaitGroup
		for i := range 10_000 {
			wg.Go(func() {
				start := b.clock.Now()
				if err := b.ask(t.Context(), strconv.Itoa(i)); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want a deadline that is over", err)
				}
				if got := b.clock.Now() - start; got > testTimeout {
					t.Errorf("waited %v, want at most %v", got, testTimeout)
				}
			})
			if i%100 == 0 {
				time.Sleep(testTimeout / 100)
			}
		}
		wg.Wait()
		close(gone)
		synctest.Wait()
		b.idle(t)
	})
}

func TestBatcherSurvives(t *testing.T) {
	for name, end := range map[string]func(){
		"a panic": func() { panic("the hook met alice") },
		"an exit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, inline bool) {
				b := newBench(inline, func(_ context.Context, call int) error {
					time.Sleep(time.Millisecond)
					if call == 1 {
						end()
					}
					return nil
				})
				var wg sync.WaitGroup
				var failed atomic.Int32
				for i := range 3 { // the first leads a flight that fails, the others go together
					wg.Go(func() {
						if err := b.ask(t.Context(), strconv.Itoa(i)); err != nil {
							failed.Add(1)
							if strings.Contains(err.Error(), "alice") {
								t.Errorf("got %v, want nothing of the panic's value, which may hold a key", err)
							}
						}
					})
				}
				wg.Wait()
				if got := failed.Load(); name == "a panic" && got != 1 {
					t.Errorf("%d callers failed, want only the one whose call panicked", got)
				}
				if got, want := b.sent(), []int{1, 2}; !slices.Equal(got, want) {
					t.Errorf("batches in each flight: got %v, want %v", got, want)
				}
				b.idle(t)
			})
		})
	}
}

func TestCallerLeavesAtOnce(t *testing.T) {
	each(t, func(t *testing.T, inline bool) {
		b := newBench(inline, takes(testTimeout/2))
		var wg sync.WaitGroup
		wg.Go(func() { _ = b.ask(t.Context(), "under way") })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Microsecond)
		defer cancel()
		start := b.clock.Now()
		if err := b.ask(ctx, "impatient"); err != context.DeadlineExceeded {
			t.Errorf("got %v, want the caller's own error", err)
		}
		if got := b.clock.Now() - start; got != time.Microsecond {
			t.Errorf("left after %v, want 1µs", got)
		}
		wg.Wait()
		if got, want := b.sent(), []int{1}; !slices.Equal(got, want) {
			t.Errorf("batches in each flight: got %v, want %v: a caller who left before the flight spends nothing", got, want)
		}
		b.idle(t)
	})
}

// A leader is in the midst of the call when its context ends. What it can do is to give the call its own deadline.
func TestLeaderHasItsOwnDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(true, func(ctx context.Context, _ int) error {
			deadline, _ := ctx.Deadline()
			time.Sleep(time.Until(deadline)) // as a client does that reads from a server that does not answer
			return os.ErrDeadlineExceeded
		})
		b.breaker = storekit.NewBreaker(testTimeout)
		for range 50 {
			ctx, cancel := context.WithTimeout(t.Context(), testTimeout/10)
			start := b.clock.Now()
			if err := b.ask(ctx, "hurried"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the end of the caller's time", err)
			}
			if got := b.clock.Now() - start; got != testTimeout/10 {
				t.Errorf("held for %v, want %v", got, testTimeout/10)
			}
			cancel()
		}
		if b.breaker.Open() {
			t.Error("the breaker is open, though nobody waited for the server")
		}
		b.idle(t)
	})
}

// The leader is chosen when a flight ends, and its context may end before it has read that.
func TestChosenLeaderLeaves(t *testing.T) {
	b := newBench(true, takes(0))
	first, chosen, other := b.batch("first"), b.batch("chosen"), b.batch("other")
	under, err := b.enter(first)
	if err != nil {
		t.Fatal(err)
	}
	for _, waiting := range []*batch{chosen, other} {
		if f, err := b.enter(waiting); f != nil || err != nil {
			t.Fatalf("entered a batcher in use: %v, %v", f, err)
		}
	}
	b.finish(under, []outcome{{}}, nil, storekit.Succeeded)
	b.leave(chosen)
	select {
	case f := <-other.wake:
		if len(f.batches) != 1 || f.batches[0] != other {
			t.Errorf("the flight has %d batches, want that of its new leader alone", len(f.batches))
		}
		b.leave(other) // which received it, and left before it began
		b.passOn(f)
	default:
		t.Fatal("nobody leads the flight of a leader who left")
	}
	b.idle(t)
}

// The processor that a leader leaves to others for a moment may not come back in time.
func TestLeaderThatYieldsTooLongSendsNothing(t *testing.T) {
	began, readings := time.Now(), 0
	b := newBench(true, takes(0))
	b.clock = storekit.NewClock(func() time.Time {
		if readings++; readings > 5 { // those before gather
			return began.Add(testTimeout)
		}
		return began
	})
	first, second := b.batch("first"), b.batch("second")
	b.waiting = []*batch{second}
	f, err := b.enter(first)
	if err != nil {
		t.Fatal(err)
	}
	readings = 4 // the fifth is that of lead
	b.lead(t.Context(), f)
	for _, own := range []*batch{first, second} {
		if <-own.wake; !errors.Is(own.outcome.err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v, want a deadline that is over", own.keys[0], own.outcome.err)
		}
	}
	if got := len(b.sent()); got != 0 {
		t.Errorf("%d flights were sent, want none", got)
	}
	b.idle(t)
}

// A flight whose leader comes to run after its time is over could only spend for callers that get an error.
func TestFlightThatIsTooLateIsNotSent(t *testing.T) {
	each(t, func(t *testing.T, inline bool) {
		b := newBench(inline, takes(0))
		first, late := b.batch("first"), b.batch("late")
		under, err := b.enter(first)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := b.enter(late); f != nil || err != nil {
			t.Fatalf("entered a batcher in use: %v, %v", f, err)
		}
		b.finish(under, []outcome{{}}, nil, storekit.Succeeded)
		time.Sleep(testTimeout)
		b.lead(t.Context(), <-late.wake)
		if <-late.wake; !errors.Is(late.outcome.err, context.DeadlineExceeded) {
			t.Errorf("got %v, want a deadline that is over", late.outcome.err)
		}
		synctest.Wait()
		if got := len(b.sent()); got != 0 {
			t.Errorf("%d flights were sent, want none", got)
		}
		b.idle(t)
	})
}

func TestFullBatcherIsBusy(t *testing.T) {
	b := newBench(true, takes(0))
	if _, err := b.enter(b.batch("under way")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.probe(b.batch("under way too")); err != nil {
		t.Fatal(err)
	}
	b.waiting = make([]*batch, maxWaiting)
	var unavailable *storekit.UnavailableError
	if _, err := b.enter(b.batch("one too many")); !errors.Is(err, storekit.ErrBusy) || !errors.As(err, &unavailable) {
		t.Errorf("got %v, want an UnavailableError that says busy", err)
	}
}

func TestOpenBreakerAnswersAtOnce(t *testing.T) {
	each(t, func(t *testing.T, inline bool) {
		well := false
		b := newBench(inline, func(ctx context.Context, _ int) error {
			if well {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		})
		b.breaker = storekit.NewBreaker(testTimeout)
		for i := 0; !b.breaker.Open(); i++ {
			if i == 20 {
				t.Fatal("the breaker did not open in 20 time-outs")
			}
			_ = b.ask(t.Context(), "down")
		}
		flights := len(b.sent())
		start := b.clock.Now()
		if err := b.ask(t.Context(), "refused"); !errors.Is(err, storekit.ErrOpen) {
			t.Errorf("got %v, want an error that says that the breaker is open", err)
		}
		if took, sent := b.clock.Now()-start, len(b.sent())-flights; took != 0 || sent != 0 {
			t.Errorf("took %v and %d flights, want none", took, sent)
		}
		time.Sleep(2 * testTimeout)
		var wg sync.WaitGroup
		wg.Go(func() { _ = b.ask(t.Context(), "probe") })
		synctest.Wait()
		if err := b.ask(t.Context(), "beside the probe"); !errors.Is(err, storekit.ErrOpen) {
			t.Errorf("while a probe is under way: got %v, want an error that says that the breaker is open", err)
		}
		wg.Wait()
		well = true
		time.Sleep(4 * testTimeout)
		if err := b.ask(t.Context(), "probe"); err != nil {
			t.Errorf("the server is back, and the probe fails: %v", err)
		}
		if b.breaker.Open() {
			t.Error("the breaker is open after a probe that succeeded")
		}
		b.idle(t)
	})
}

func TestBatchesAreReusedClean(t *testing.T) {
	var pool batches
	b := pool.get(0)
	b.add("p:", []limiter.Charge{
		{Key: "a", Limit: limiter.PerMinute(1), Cost: 1}, {Key: "b", Limit: limiter.PerMinute(1), Cost: 1},
	})
	b.outcome = outcome{at: 1, values: []any{int64(1)}}
	pool.put(b)
	if len(b.keys)+len(b.asks)+len(b.of)+len(b.usages) != 0 || b.outcome.values != nil || b.keys[:2][1] != "" {
		t.Errorf("a released batch still holds %+v", b)
	}
}

// refusal is an error reply of a server.
type refusal string

func (r refusal) Error() string { return string(r) }
func (r refusal) RedisError()   {}

// moves makes the server say of a key, until the slot has moved, that it has to be asked again.
func (b *bench) moves(key string, moved *atomic.Bool) {
	send := b.send
	b.send = func(ctx context.Context, batches []*batch) []outcome {
		outcomes := send(ctx, batches)
		for i, batch := range batches {
			if batch.keys[0] == key && !moved.Load() {
				outcomes[i] = outcome{err: refusal("TRYAGAIN Multiple keys request during rehashing of slot"), again: true}
			}
		}
		return outcomes
	}
}

func TestMovingSlotHoldsUpNobodyElse(t *testing.T) {
	each(t, func(t *testing.T, inline bool) {
		const flight = time.Millisecond / 2
		b := newBench(inline, takes(flight))
		b.breaker = storekit.NewBreaker(testTimeout)
		var moved atomic.Bool
		b.moves("moving", &moved)
		start := b.clock.Now()
		var others, moving sync.WaitGroup
		for i := range 100 {
			moving.Go(func() {
				if err := b.ask(t.Context(), "moving"); err != nil {
					t.Error(err)
				}
			})
			others.Go(func() {
				if err := b.ask(t.Context(), strconv.Itoa(i)); err != nil {
					t.Error(err)
				}
			})
		}
		others.Wait()
		if took := b.clock.Now() - start; took > 3*flight {
			t.Errorf("others waited %v, want at most %v", took, 3*flight)
		}
		time.Sleep(testTimeout / 5)
		moved.Store(true)
		moving.Wait()
		if took := b.clock.Now() - start; took > testTimeout/2 {
			t.Errorf("answered %v after the beginning, want at most %v", took, testTimeout/2)
		}
		b.idle(t)
	})
}

func TestSlotThatDoesNotArrive(t *testing.T) {
	each(t, func(t *testing.T, inline bool) {
		b := newBench(inline, takes(time.Millisecond/2))
		b.breaker = storekit.NewBreaker(testTimeout)
		b.moves("moving", new(atomic.Bool))
		for range 20 {
			start := b.clock.Now()
			if err := b.ask(t.Context(), "moving"); !slotMoves(err) {
				t.Errorf("got %v, want what the server said", err)
			}
			if took := b.clock.Now() - start; took > testTimeout/2 {
				t.Errorf("held for %v, want at most %v", took, testTimeout/2)
			}
		}
		if b.breaker.Open() {
			t.Error("the breaker is open, though the server answers")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := b.ask(ctx, "moving"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the context", err)
		}
		b.idle(t)
	})
}
