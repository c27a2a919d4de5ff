package redisstore

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"fmt"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// The scripts, each complete. protocol.go describes how they are called and what they answer.
var (
	//go:embed windows.lua
	windowsSource string
	//go:embed strict.lua
	strictSource string
	//go:embed general.lua
	generalSource string
)

// script is a Lua script as Redis knows it.
type script struct {
	source string
	digest string // SHA-1 in hex, as Redis names scripts
}

func newScript(source string) script {
	sum := sha1.Sum([]byte(source))
	return script{source: source, digest: hex.EncodeToString(sum[:])}
}

// sender has batches decided by the server, through the client.
type sender struct {
	client   redis.UniversalClient
	scripts  [general + 1]script
	time     serverTime
	notices  *notices
	perKey   atomic.Bool // two keys cannot be in one call of a script
	answered atomic.Bool // a server has answered
}

// newScripts returns the scripts by their ways.
func newScripts() [general + 1]script {
	return [...]script{
		windows: newScript(windowsSource), strict: newScript(strictSource), general: newScript(generalSource),
	}
}

// scriptCall is one call of a script.
type scriptCall struct {
	way      way
	batches  []*batch
	outcomes []outcome // of the same length, to be filled in
	source   bool      // send the source of the script, for a server that does not know it
	numbers  *redis.IntSliceCmd
	values   *redis.Cmd // of general.lua, instead
}

// noRetry and noRetryOfNumbers are commands that go-redis sends one time only: a script whose reply was lost may have
// spent already.
type (
	noRetry          struct{ *redis.Cmd }
	noRetryOfNumbers struct{ *redis.IntSliceCmd }
)

// NoRetry implements an interface of go-redis, since v9.19.0.
func (noRetry) NoRetry() bool { return true }

// NoRetry implements the same.
func (noRetryOfNumbers) NoRetry() bool { return true }

// send has arranged batches decided and returns their outcomes, in their order. It ends when ctx does, if the client
// heeds deadlines. Sent again is only what was certainly not decided: to a server that did not know the script, with
// its source, and what the others leave to general.lua.
func (s *sender) send(ctx context.Context, batches []*batch) []outcome {
	outcomes := make([]outcome, len(batches))
	for calls := s.calls(batches, outcomes); len(calls) > 0; {
		s.exchange(ctx, calls)
		var again []scriptCall
		for i := range calls {
			again = s.finish(&calls[i], again)
		}
		calls = again
	}
	return outcomes
}

// calls returns one call of each script for the batches that it decides, or one for each batch.
func (s *sender) calls(batches []*batch, outcomes []outcome) []scriptCall {
	apart := s.perKey.Load()
	calls := make([]scriptCall, 0, 2)
	for first, last := 0, 0; first < len(batches); first = last {
		way := batches[first].way()
		for last = first + 1; last < len(batches) && batches[last].way() == way && !apart; {
			last++
		}
		calls = append(calls, scriptCall{
			way: way, batches: batches[first:last], outcomes: outcomes[first:last],
		})
	}
	return calls
}

// exchange sends the calls and reads the replies. What fails stands in each call's command.
func (s *sender) exchange(ctx context.Context, calls []scriptCall) {
	latest := s.time.latest()
	if len(calls) == 1 {
		_ = s.client.Process(ctx, calls[0].command(ctx, s, latest))
		return
	}
	pipe := s.client.Pipeline()
	for i := range calls {
		_ = pipe.Process(ctx, calls[i].command(ctx, s, latest))
	}
	_, _ = pipe.Exec(ctx)
}

// command makes the command of the call.
func (c *scriptCall) command(ctx context.Context, s *sender, latest int64) redis.Cmder {
	args := c.arguments(&s.scripts[c.way], latest)
	if c.way == general {
		c.values = redis.NewCmd(ctx, args...)
		return noRetry{c.values}
	}
	c.numbers = redis.NewIntSliceCmd(ctx, args...)
	return noRetryOfNumbers{c.numbers}
}

// read gives each batch of the call its part of the reply.
func (c *scriptCall) read() error {
	if c.values != nil {
		reply, err := c.values.Result()
		if err != nil {
			return err
		}
		return c.readValues(reply)
	}
	reply, err := c.numbers.Result()
	if err != nil {
		return err
	}
	return c.readNumbers(reply)
}

// finish fills in the outcomes of a call, and appends what has to be sent again.
func (s *sender) finish(c *scriptCall, again []scriptCall) []scriptCall {
	if err := c.read(); err != nil {
		told := withoutKeys(fmt.Errorf("redisstore: %w", unauthenticated(err)), c.batches)
		for i := range c.outcomes {
			c.outcomes[i] = outcome{err: told, again: notExecuted(err), unknown: !isReply(err) && !notSent(err)}
		}
		if redis.HasErrorPrefix(err, "NOSCRIPT") && !c.source {
			again = append(again, scriptCall{way: c.way, batches: c.batches, outcomes: c.outcomes, source: true})
		}
		return again
	}
	s.answered.Store(true)
	s.time.saw(c.outcomes[0].at)
	s.notices.clockAhead(s.time.now()-c.outcomes[0].at, c.batches)
	return s.leftToGeneral(c, again)
}

// leftToGeneral appends the calls for what the other scripts did not decide: one for batches that stand together.
func (s *sender) leftToGeneral(c *scriptCall, again []scriptCall) []scriptCall {
	for first := 0; first < len(c.batches); first++ {
		last := first
		for last < len(c.batches) && c.outcomes[last].undecided {
			last++
		}
		if last > first {
			again = append(again, scriptCall{
				way: general, batches: c.batches[first:last], outcomes: c.outcomes[first:last],
			})
			first = last
		}
	}
	return again
}
