package redisstore

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// caller sends batches to the server through the client and repeats what is known not to have been executed.
type caller struct {
	client redis.UniversalClient
	script script
	time   serverTime
	apart  atomic.Bool // keys of two clients cannot be in one call of the script
	met    atomic.Bool // a server has answered
}

// call is one call of the script. Where each decides one batch, several go in one pipeline.
type call struct {
	batches  []*batch
	outcomes []outcome // of the same length, to be filled in
	whole    bool      // send the source of the script
	cmd      once
}

const (
	firstPause = 2 * time.Millisecond // a failover takes longer, a slot on its way not
	lastPause  = 50 * time.Millisecond
)

// send has the batches decided and returns their outcomes, in their order. It ends when ctx does, if the client heeds
// deadlines. A call whose outcome is unknown is never repeated.
func (c *caller) send(ctx context.Context, batches []*batch) []outcome {
	outcomes := make([]outcome, len(batches))
	calls := c.calls(batches, outcomes)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		c.exchange(ctx, calls)
		wait := false
		var again []call
		for _, one := range calls {
			if c.settle(&one) {
				wait = wait || !redis.HasErrorPrefix(one.cmd.Err(), "NOSCRIPT")
				again = append(again, one)
			}
		}
		if len(again) == 0 || wait && !sleep(ctx, pause) {
			return outcomes
		}
		calls = again
	}
}

func (c *caller) calls(batches []*batch, outcomes []outcome) []call {
	if !c.apart.Load() {
		return []call{{batches: batches, outcomes: outcomes}}
	}
	calls := make([]call, len(batches))
	for i := range batches {
		calls[i] = call{batches: batches[i : i+1], outcomes: outcomes[i : i+1]}
	}
	return calls
}

// exchange sends the calls and reads the replies. What fails stands in each call's command.
func (c *caller) exchange(ctx context.Context, calls []call) {
	latest := c.time.latest()
	for i := range calls {
		calls[i].cmd = c.script.command(ctx, calls[i].batches, latest, calls[i].whole)
	}
	if len(calls) == 1 {
		_ = c.client.Process(ctx, calls[0].cmd)
		return
	}
	pipe := c.client.Pipeline()
	for i := range calls {
		_ = pipe.Process(ctx, calls[i].cmd)
	}
	_, _ = pipe.Exec(ctx)
}

// settle fills in the outcomes of a call, and tells whether it is to be sent again.
func (c *caller) settle(one *call) (again bool) {
	reply, err := one.cmd.Result()
	if err == nil {
		err = split(reply, one.batches, one.outcomes)
	}
	if err == nil {
		c.met.Store(true)
		c.time.saw(one.outcomes[0].at)
		return false
	}
	for i := range one.outcomes {
		one.outcomes[i] = outcome{err: fmt.Errorf("redisstore: %w", err)}
	}
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		again, one.whole = !one.whole, true
		return again
	}
	return notExecuted(err)
}

// sleep waits, and tells whether ctx goes on after that.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
