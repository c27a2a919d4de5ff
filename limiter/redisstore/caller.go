package redisstore

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// caller sends batches to the server through the client.
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

// send has the batches decided and returns their outcomes, in their order. It ends when ctx does, if the client heeds
// deadlines. Nothing is sent twice, but for the source to a server that did not know the script.
func (c *caller) send(ctx context.Context, batches []*batch) []outcome {
	outcomes := make([]outcome, len(batches))
	for calls := c.calls(batches, outcomes); len(calls) > 0; {
		c.exchange(ctx, calls)
		var again []call
		for _, one := range calls {
			if c.settle(&one) {
				again = append(again, one)
			}
		}
		calls = again
	}
	return outcomes
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

// settle fills in the outcomes of a call, and tells whether the server wants the source.
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
		one.outcomes[i] = outcome{err: fmt.Errorf("redisstore: %w", err), again: notExecuted(err)}
	}
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		again, one.whole = !one.whole, true
	}
	return again
}
