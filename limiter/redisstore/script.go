package redisstore

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// The two scripts, each complete. protocol.go describes how they are called and what they answer.
var (
	//go:embed fast.lua
	fastSource string
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
	client        redis.UniversalClient
	fast, general script
	time          serverTime
	notices       *notices
	perKey        atomic.Bool // two keys cannot be in one call of a script
	answered      atomic.Bool // a server has answered
}

// scriptCall is one call of a script.
type scriptCall struct {
	script   *script
	batches  []*batch
	outcomes []outcome // of the same length, to be filled in
	source   bool      // send the source of the script, for a server that does not know it
	cmd      noRetry
}

// noRetry is a command that go-redis sends one time only: a script whose reply was lost may have spent already.
type noRetry struct{ *redis.Cmd }

// NoRetry implements an interface of go-redis, since v9.19.0.
func (noRetry) NoRetry() bool { return true }

// send has arranged batches decided and returns their outcomes, in their order. It ends when ctx does, if the client
// heeds deadlines. Sent again is only what was certainly not decided: to a server that did not know the script, with
// its source, and what fast.lua leaves to general.lua.
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
	if s.perKey.Load() {
		calls := make([]scriptCall, len(batches))
		for i, b := range batches {
			calls[i] = scriptCall{script: &s.general, batches: batches[i : i+1], outcomes: outcomes[i : i+1]}
			if b.isFast() {
				calls[i].script = &s.fast
			}
		}
		return calls
	}
	fast := slices.IndexFunc(batches, func(b *batch) bool { return !b.isFast() })
	switch fast {
	case -1:
		return []scriptCall{{script: &s.fast, batches: batches, outcomes: outcomes}}
	case 0:
		return []scriptCall{{script: &s.general, batches: batches, outcomes: outcomes}}
	}
	return []scriptCall{
		{script: &s.fast, batches: batches[:fast], outcomes: outcomes[:fast]},
		{script: &s.general, batches: batches[fast:], outcomes: outcomes[fast:]},
	}
}

// exchange sends the calls and reads the replies. What fails stands in each call's command.
func (s *sender) exchange(ctx context.Context, calls []scriptCall) {
	latest := s.time.latest()
	for i := range calls {
		calls[i].cmd = noRetry{redis.NewCmd(ctx, calls[i].arguments(calls[i].script == &s.fast, latest)...)}
	}
	if len(calls) == 1 {
		_ = s.client.Process(ctx, calls[0].cmd)
		return
	}
	pipe := s.client.Pipeline()
	for i := range calls {
		_ = pipe.Process(ctx, calls[i].cmd)
	}
	_, _ = pipe.Exec(ctx)
}

// finish fills in the outcomes of a call, and appends what has to be sent again.
func (s *sender) finish(c *scriptCall, again []scriptCall) []scriptCall {
	reply, err := c.cmd.Result()
	if err == nil {
		err = c.read(reply, c.script == &s.fast)
	}
	if err != nil {
		told := withoutKeys(fmt.Errorf("redisstore: %w", unauthenticated(err)), c.batches)
		for i := range c.outcomes {
			c.outcomes[i] = outcome{err: told, again: notExecuted(err), unknown: !isReply(err) && !notSent(err)}
		}
		if redis.HasErrorPrefix(err, "NOSCRIPT") && !c.source {
			again = append(again, scriptCall{script: c.script, batches: c.batches, outcomes: c.outcomes, source: true})
		}
		return again
	}
	s.answered.Store(true)
	s.time.saw(c.outcomes[0].at)
	s.notices.clockAhead(s.time.now()-c.outcomes[0].at, c.batches)
	return s.leftToGeneral(c, again)
}

// leftToGeneral appends the calls for what fast.lua did not decide: one for batches that stand together.
func (s *sender) leftToGeneral(c *scriptCall, again []scriptCall) []scriptCall {
	for first := 0; first < len(c.batches); first++ {
		last := first
		for last < len(c.batches) && c.outcomes[last].undecided {
			last++
		}
		if last > first {
			again = append(again, scriptCall{
				script: &s.general, batches: c.batches[first:last], outcomes: c.outcomes[first:last],
			})
			first = last
		}
	}
	return again
}
