package limitertest

import (
	"fmt"
	"strings"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// answer is a batch after Take.
type answer struct {
	charges []limiter.Charge
	taken   bool
}

// compare fails the case if the answer of the store is not that of the oracle.
func (s *storeTest) compare(asked []limiter.Charge, got, want answer) {
	s.Helper()
	if got.taken != want.taken {
		s.Fatalf("taken is %t, want %t:\n got %v\nwant %v", got.taken, want.taken, batch(got.charges), batch(want.charges))
	}
	for i := range asked {
		g := got.charges[i]
		g.State, g.Decision, g.Cached = asked[i].State, asked[i].Decision, asked[i].Cached
		g.Local, g.Shared = asked[i].Local, asked[i].Shared
		if g != asked[i] {
			s.Fatalf("charge %d: Take changed what only the caller fills in:\n got %v\nwant %v", i, describe(&g),
				describe(&asked[i]))
		}
	}
	if s.repeated = s.mayBeCached(got, want); s.repeated {
		return
	}
	for i := range asked {
		if g, w := &got.charges[i], &want.charges[i]; g.State != w.State || g.Decision != w.Decision {
			s.Fatalf("charge %d of\n%v\n got %v\nwant %v", i, batch(asked), describe(g), describe(w))
		}
	}
	s.noteRefusals(got)
}

// batch prints charges, one a line.
type batch []limiter.Charge

func (b batch) String() string {
	if len(b) == 0 {
		return "  no charges"
	}
	lines := make([]string, len(b))
	for i := range b {
		lines[i] = "  " + describe(&b[i])
	}
	return strings.Join(lines, "\n")
}

func describe(c *limiter.Charge) string {
	return fmt.Sprintf("{%s %d of %v on %.40q/%.40q; at %d current %d previous %d; "+
		"allowed %t remaining %d retry %s reset %s cached %t}",
		modeName(c.Mode), c.Cost, c.Limit, c.Scope, c.Key, c.At, c.Current, c.Previous,
		c.Allowed, c.Remaining, wait(c.RetryAfter), wait(c.ResetAfter), c.Cached)
}

func wait(d time.Duration) string {
	if d == limiter.Never {
		return "never"
	}
	return d.String()
}

func modeName(m limiter.Mode) string {
	switch m {
	case limiter.Enforce:
		return "enforce"
	case limiter.Shadow:
		return "shadow"
	case limiter.Peek:
		return "peek"
	case limiter.Force:
		return "force"
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}
