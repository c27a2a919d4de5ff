package redisstore

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/limiter/storekit"
)

const (
	// grace is for how long calls may fail without telling against the server while it is being connected to. TLS and a
	// greeting across an ocean take less.
	grace = time.Second

	// farShare is the share of the time-out, one part in so many, from which making a connection is too long for a call,
	// which has to be answered in the same time.
	farShare = 4

	// distantShare is the share of the time-out, one part in so many, above which a round trip is that of a server which
	// is not near: TCP, TLS, the greeting and the call itself take about as many.
	distantShare = 8

	// pauseOfDemoted is between two rounds that drop connections to a server that denies writes. It doubles up to the
	// longest, for a server that is a replica and stays one.
	pauseOfDemoted, longestPauseOfDemoted = 100 * time.Millisecond, time.Second
)

// contact looks after the connections to one server beside the calls, which have no time for that: a call may take as
// long as a decision, and dialling, TLS and the client's greeting may take longer. It greets the server at first
// contact, finds out why calls fail, and gets rid of connections that went silent or lead to a replica.
//
// It has no goroutine while all is well. A call starts one, at most one runs for each server, and it ends within the
// DialTimeout and the ReadTimeout of the client together. A nil *contact does nothing.
type contact struct {
	client  atomic.Pointer[redis.Client]    // of the server; nil: of all that the next field greets
	greet   func(ctx context.Context) error // greets every server that a client knows; nil where client is set
	breaker *storekit.Breaker
	clock   *storekit.Clock
	timeout time.Duration
	notices *notices
	pace    *pace
	prefix  string
	reload  func(context.Context) // has the client learn the topology anew; nil: it cannot

	met     atomic.Bool  // there was a first contact
	looking atomic.Bool  // the goroutine runs
	since   atomic.Int64 // since when the server is being connected to, on the clock; 0: it is not
	far     atomic.Bool  // callers have no time to make connections
	filling atomic.Bool  // there are none yet, and some are being made

	answered atomic.Int64 // when a call was answered last, while far

	pause atomic.Int64 // of demoted, at present
	next  atomic.Int64 // moment from which demoted acts
}

// first makes the first contact, once.
func (c *contact) first() {
	if c != nil && !c.met.Load() && !c.met.Swap(true) && !c.start(c.introduce) {
		c.met.Store(false)
	}
}

// doubt finds out why a call has failed that got no answer.
func (c *contact) doubt() {
	if c != nil {
		c.start(c.look)
	}
}

// demoted drops the idle connections, after a server has denied a write as replicas do. Behind the same address there
// may be another server by now, which go-redis reaches by dialling; and it drops a connection only where the error is
// that of a command, not that of a command in a script.
func (c *contact) demoted() {
	if c == nil || int64(c.clock.Now()) < c.next.Load() {
		return
	}
	c.start(func(ctx context.Context) {
		now, pause := c.clock.Now(), time.Duration(c.pause.Load())
		if now > time.Duration(c.next.Load())+longestPauseOfDemoted { // that was another time
			pause = 0
		}
		pause = min(max(2*pause, pauseOfDemoted), longestPauseOfDemoted)
		c.pause.Store(int64(pause))
		c.next.Store(int64(now + pause))
		if c.reload != nil {
			c.reload(ctx)
		}
		if client := c.client.Load(); client != nil {
			// Names no counter. It is a write that every full server takes, and every replica denies.
			c.askIdle(ctx, client, "del", c.prefix+"{replica}")
		}
	})
}

// connections returns how many there are in the pool, at least one, or a large number where that is not known.
func (c *contact) connections() int {
	if c != nil {
		if client := c.client.Load(); client != nil {
			return max(1, int(client.PoolStats().TotalConns))
		}
	}
	return math.MaxInt
}

// answer notes that the server has answered a call, in time or not.
func (c *contact) answer(now time.Duration) {
	if c != nil && c.far.Load() {
		c.answered.Store(int64(now))
	}
}

// answeredLately reports whether the server, which is far, has answered a call not long before the one began that
// failed now: no later than answers are still read.
func (c *contact) answeredLately() bool {
	answered := c.answered.Load()
	return answered != 0 && c.clock.Now()-time.Duration(answered) < 2*c.timeout+c.pace.linger(c.timeout)
}

// connecting reports whether a call that failed now says nothing of the server, as it is being connected to.
func (c *contact) connecting(now time.Duration) bool {
	if c == nil {
		return false
	}
	since := c.since.Load()
	return since != 0 && now-time.Duration(since) < grace
}

// begin returns an error if a call cannot be sent now, as there are no connections yet.
func (c *contact) begin(now time.Duration) error {
	if c == nil || !c.filling.Load() || !c.connecting(now) {
		return nil
	}
	return &storekit.UnavailableError{Err: errConnecting}
}

var errConnecting = errors.New("connections to the server are being made")

// knock probes the server as a call would, by a ping.
func (c *contact) knock(now time.Duration) {
	if c == nil {
		return
	}
	permit, err := c.breaker.Begin(now)
	if err != nil {
		return
	}
	started := c.start(func(ctx context.Context) {
		err := errExited
		defer func() {
			how := storekit.Succeeded
			if err != nil {
				how = storekit.Failed
			}
			c.breaker.End(permit, c.clock.Now(), how, err)
		}()
		if client := c.client.Load(); client != nil {
			err = ping(ctx, client)
		} else {
			err = c.greet(ctx)
		}
	})
	if !started {
		c.breaker.End(permit, c.clock.Now(), storekit.Undecided, nil)
	}
}

// start runs f in the goroutine of the contact, and reports false if that is busy.
func (c *contact) start(f func(context.Context)) bool {
	if !c.looking.CompareAndSwap(false, true) {
		return false
	}
	go func() {
		defer c.looking.Store(false)
		defer func() {
			if p := recover(); p != nil { // a hook or a dialler of the client's
				c.breaker.Explain(errors.New("redisstore: the client panicked: " + storekit.DescribePanic(p)))
			}
		}()
		defer func() {
			c.filling.Store(false)
			c.since.Store(0)
		}()
		// Nobody's context: what is connected here serves the calls that follow, whatever becomes of the present one.
		ctx, cancel := context.WithTimeout(context.Background(), c.patience())
		defer cancel()
		f(ctx)
	}()
	return true
}

// patience returns for how long the goroutine may run.
func (c *contact) patience() time.Duration {
	const dial, read = 5 * time.Second, 3 * time.Second // the defaults of go-redis
	client := c.client.Load()
	if client == nil {
		return dial + read
	}
	d, r := client.Options().DialTimeout, client.Options().ReadTimeout
	if d <= 0 {
		d = dial
	}
	if r <= 0 {
		r = read
	}
	return d + r
}

// introduce greets the server, learns what there is to warn of, and sees to connections where callers cannot make them
// in their own time.
func (c *contact) introduce(ctx context.Context) {
	c.since.Store(max(1, int64(c.clock.Now())))
	client := c.client.Load()
	if client == nil {
		if err := c.greet(ctx); err != nil {
			c.breaker.Explain(unauthenticated(err))
			return
		}
		c.breaker.Hasten(c.clock.Now())
		return
	}
	c.connect(ctx, client, c.inspect)
}

// look finds out whether a server of which a call got no answer answers others, on a connection from the pool or a new
// one. Connections that are silent go on the way. If it does, the next call may follow at once.
func (c *contact) look(ctx context.Context) {
	client := c.client.Load()
	if client == nil {
		if err := c.greet(ctx); err != nil {
			c.breaker.Explain(unauthenticated(err))
		}
		return
	}
	if c.reload != nil {
		c.reload(ctx)
	}
	if c.far.Load() && c.answeredLately() && 2*int(client.PoolStats().TotalConns) > c.wanted(client) {
		return // one answer was late, and questions would take the connections that calls need
	}
	answered, silent := c.askIdle(ctx, client, "ping")
	switch {
	case !answered:
		answered = c.connect(ctx, client, nil)
	case c.far.Load(): // the calls that failed have taken their connections with them
		c.fill(ctx, client)
	}
	if answered && silent {
		c.breaker.Hasten(c.clock.Now())
	}
}

// connect tries a new connection, which shows what a call would only see as time that ran out, and passes it to
// inspect. It reports whether the server answers.
//
// Where that takes so long that callers cannot make their own connections, it makes some for the pool. Calls fail at
// once meanwhile: they would take connections that are about to be greeted, and lose them.
func (c *contact) connect(
	ctx context.Context,
	client *redis.Client,
	inspect func(context.Context, *redis.Client),
) bool {
	began := c.clock.Now()
	fresh, end, err := freshClient(ctx, client.Options())
	if err == nil {
		defer end()
		err = ping(ctx, fresh)
	}
	if err != nil {
		c.breaker.Explain(unauthenticated(err))
		return false
	}
	took := c.clock.Now() - began
	c.measure(ctx, fresh)
	// Both: on a machine with too much to do, connecting to a server near by takes long too, and calls get through.
	if took > c.timeout/farShare && c.pace.distant(c.timeout) {
		c.far.Store(true)
		c.since.Store(max(1, int64(c.clock.Now())))
		c.filling.Store(true)
		c.teach(ctx, fresh)
		if c.fill(ctx, client) {
			c.breaker.Hasten(c.clock.Now())
		}
	}
	if inspect != nil {
		inspect(ctx, fresh)
	}
	return true
}
