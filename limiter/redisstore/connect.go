package redisstore

import (
	"context"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// mostAtOnce bounds how many idle connections are asked at the same time.
const mostAtOnce = 256

// ping returns nil if the server answers, also if it answers that the account may not do that.
func ping(ctx context.Context, client interface {
	Process(context.Context, redis.Cmder) error
}) error {
	err := client.Process(ctx, noRetry{redis.NewCmd(ctx, "ping")})
	if redis.IsPermissionError(err) {
		return nil
	}
	return err
}

// askIdle sends a command on idle connections of the pool, on more and more of them at once, until one is answered
// without an error or none is idle. go-redis drops those that do not answer within the store's time-out, or twice that
// where the server is far, and those that deny a write. It reports whether one was answered, and whether one was not.
func (c *contact) askIdle(ctx context.Context, client *redis.Client, command ...any) (answered, silent bool) {
	// The same pool; and time-outs that hold whatever the settings of the client are.
	patience := c.timeout + c.pace.linger(c.timeout)
	quick := client.WithTimeout(patience)
	for n := maxFlights; !answered && ctx.Err() == nil; n = min(2*n, mostAtOnce) {
		idle := min(n, int(client.PoolStats().IdleConns))
		if idle == 0 {
			break
		}
		var answers atomic.Int32
		var asked sync.WaitGroup
		for range idle {
			asked.Go(func() {
				soon, cancel := context.WithTimeout(ctx, patience)
				defer cancel()
				err := quick.Process(soon, noRetry{redis.NewCmd(soon, command...)})
				if err == nil || isReply(err) && !redis.IsReadOnlyError(err) {
					answers.Add(1)
				}
			})
		}
		asked.Wait()
		answered = answers.Load() > 0
		silent = silent || int(answers.Load()) < idle
	}
	return answered, silent
}

// connections returns how many the client may have, 0 if there is no client.
func connections(client *redis.Client) int {
	if client == nil {
		return 0
	}
	n := client.Options().PoolSize
	if most := client.Options().MaxActiveConns; most > 0 {
		n = min(n, most)
	}
	return n
}

// wanted returns how many connections flights may need at once, as far as the client may have them.
func (c *contact) wanted(client *redis.Client) int {
	return min(c.pace.flights(c.timeout), connections(client))
}

// fill makes connections for the pool: as many as flights may need at once, beside those that go-redis has dialled and
// not greeted. Calls fail at once meanwhile: they would take connections that are about to be greeted, and lose them.
// It reports whether there is one.
func (c *contact) fill(ctx context.Context, client *redis.Client) bool {
	c.since.Store(max(1, int64(c.clock.Now())))
	c.filling.Store(true)
	defer c.filling.Store(false)
	var made atomic.Int32
	var all sync.WaitGroup
	idle := min(int(client.PoolStats().IdleConns), mostAtOnce)
	for range min(c.wanted(client)+idle, connections(client)) {
		all.Go(func() {
			if ping(ctx, client) == nil {
				made.Add(1)
			}
		})
	}
	all.Wait()
	return made.Load() > 0
}

// teach has the server learn the scripts, which a caller would send once it has said that it does not know them.
func (c *contact) teach(ctx context.Context, client *redis.Client) {
	for _, source := range []string{windowsSource, strictSource, generalSource} {
		_ = client.Process(ctx, noRetry{redis.NewCmd(ctx, "eval", source, 0, 0)}) // no batches
	}
}

// measure warns if the round trip on a connection that is there comes near the time-out.
func (c *contact) measure(ctx context.Context, client *redis.Client) {
	fastest := time.Duration(math.MaxInt64)
	for range 4 { // one ping may wait for the processor; of several the fastest did so least
		began := c.clock.Now()
		if ping(ctx, client) != nil {
			return
		}
		if fastest = min(fastest, c.clock.Now()-began); fastest < c.timeout/distantShare {
			break
		}
	}
	c.pace.set(fastest)
	c.notices.roundTrip(fastest, c.timeout)
}

// inspect asks what is worth a warning at first contact. An account that may not ask is not warned.
func (c *contact) inspect(ctx context.Context, client *redis.Client) {
	info, err := client.InfoMap(ctx, "memory").Result()
	if err == nil {
		c.notices.eviction(info["Memory"]["maxmemory_policy"])
	}
}

// freshClient dials, and returns a client with the same settings and that connection, for one look, and what closes it.
func freshClient(ctx context.Context, o *redis.Options) (client *redis.Client, end func(), err error) {
	soon, cancel := context.WithTimeout(ctx, max(o.DialTimeout, time.Second))
	defer cancel()
	conn, err := o.Dialer(soon, o.Network, o.Addr) // go-redis would try it five times, and log each
	if err != nil {
		return nil, nil, err
	}
	own := *o
	var used atomic.Bool
	own.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if !used.Swap(true) {
			return conn, nil
		}
		return o.Dialer(ctx, network, addr)
	}
	own.PoolSize, own.MinIdleConns, own.MaxIdleConns, own.MaxActiveConns = 2, 0, 0, 0
	own.MaxRetries, own.DialerRetries = -1, 1
	own.ContextTimeoutEnabled = true
	own.Limiter, own.PushNotificationProcessor = nil, nil
	own.MaintNotificationsConfig = &maintnotifications.Config{
		Mode: maintnotifications.ModeDisabled, EndpointType: maintnotifications.EndpointTypeNone,
	}
	client = redis.NewClient(&own)
	return client, func() {
		client.Close()
		if !used.Swap(true) {
			conn.Close()
		}
	}, nil
}
