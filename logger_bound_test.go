package httplimit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/httplimit/httplimit/limiter"
)

// failing is a store that is away.
type failing struct{}

func (failing) Take(context.Context, []limiter.Charge) (bool, error) {
	return false, errors.New("away")
}
func (failing) Reset(context.Context, []limiter.Charge) error { return errors.New("away") }

// noisy returns a configuration of one rule, everything of which is worth a line in the log.
func noisy(name string) Config {
	fault := errors.New(name + strings.Repeat("x", maxText))
	return Config{
		Store: failing{}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Rules: []Rule{{
			Name: name, Limit: limiter.PerDay(1), Failure: FailOpen, Shadow: true,
			Key:       KeyFunc(func(*http.Request) (string, error) { return "", fault }),
			LimitFunc: func(*http.Request) (limiter.Limit, error) { return limiter.Limit{}, fault },
			Cost:      func(*http.Request) (int64, error) { return 0, fault },
		}},
	}
}

// TestReconfigureForgetsRulesThatAreGone: 10,000 configurations with ever new names leave what one leaves.
func TestReconfigureForgetsRulesThatAreGone(t *testing.T) {
	m, err := New(noisy("first"))
	if err != nil {
		t.Fatal(err)
	}
	r := request("192.0.2.7:1", [2]string{"X-Forwarded-For", "198.51.100.7"})
	round := func(i int) {
		m.Check(r).Settle(200)
		if err := m.Reconfigure(noisy(fmt.Sprint("rule ", i))); err != nil {
			t.Fatal(err)
		}
		faulty := noisy(fmt.Sprint("faulty ", i))
		faulty.Instances = -1
		if m.Reconfigure(faulty) == nil {
			t.Fatal("a faulty configuration was taken")
		}
	}
	heap := func() int64 {
		var stats runtime.MemStats
		for range 3 { // the pool of Outcomes needs two
			runtime.GC()
		}
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	for i := range 100 {
		round(i)
	}
	m.Check(r).Settle(200)
	before, rules := heap(), len(m.logger.seen)
	for i := range 10_000 {
		round(100 + i)
	}
	m.Check(r).Settle(200)
	if got := len(m.logger.seen); got != rules {
		t.Errorf("the logger remembers %d rules, want %d: that in force, and the setup", got, rules)
	}
	// One rule that is kept takes at least a kilobyte: the texts of three warnings.
	if grown := heap() - before; grown > 1<<20 {
		t.Errorf("10,000 configurations left %d bytes, want none", grown)
	}
}

// TestMessagesAreBounded: whatever a rule has to say, its log is finite.
func TestMessagesAreBounded(t *testing.T) {
	l := newLogger()
	l.out.Store(slog.New(slog.NewTextHandler(io.Discard, nil)))
	for i := range 10_000 {
		l.warnSetup(fmt.Sprint("code ", i), "message")
		for j := range 3 {
			l.warnOnce("rule", fmt.Sprint("message ", i), fmt.Errorf("%d", i+j))
		}
	}
	for rule, messages := range l.seen {
		if len(messages) > maxMessages {
			t.Errorf("rule %q: %d messages are remembered, want at most %d", rule, len(messages), maxMessages)
		}
	}
}
