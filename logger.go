package httplimit

import (
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// logger writes the log of a Middleware: what repeats is written once. It outlives a Reconfigure, and with it the state
// of the rules. Safe for concurrent use.
type logger struct {
	out atomic.Pointer[slog.Logger] // nil: slog.Default()

	mu    sync.Mutex
	seen  map[topic][]string // texts by topic
	rules map[string]*ruleState
}

// ruleState is what outlives a Reconfigure of a rule.
type ruleState struct {
	health health
	shadow shadowReport
}

// topic is what a repeated message is about.
type topic struct{ rule, message string }

// maxTexts and maxText bound what one topic may write and remember: a client can influence the text of an error, and
// must neither fill the log nor keep other topics out of it.
const (
	maxTexts = 16
	maxText  = 256 // bytes
)

func newLogger() *logger {
	return &logger{seen: make(map[topic][]string), rules: make(map[string]*ruleState)}
}

func (l *logger) slog() *slog.Logger {
	if out := l.out.Load(); out != nil {
		return out
	}
	return slog.Default()
}

// isNew reports whether a text is the first of its kind for a topic that has not written its share yet.
func (l *logger) isNew(about topic, text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	texts := l.seen[about]
	if len(texts) >= maxTexts || slices.Contains(texts, text) {
		return false
	}
	l.seen[about] = append(texts, text)
	return true
}

// warnOnce writes a fault of a rule, or of all rules if rule is "": once a cause, for the first 16 causes.
func (l *logger) warnOnce(rule, message string, cause error) {
	text := cause.Error()
	if len(text) > maxText {
		text = text[:maxText] + "..."
	}
	if l.isNew(topic{rule, message}, text) {
		l.slog().Warn("httplimit: "+message, "rule", rule, "cause", text)
	}
}

// warnSetup writes a warning about the setup around the service, once a code.
func (l *logger) warnSetup(code, message string) {
	if l.isNew(topic{message: code}, "") {
		l.slog().Warn("httplimit: "+message, "code", code)
	}
}

// rule returns the state of the rule of that name, always the same.
func (l *logger) rule(name string) *ruleState {
	l.mu.Lock()
	defer l.mu.Unlock()
	state := l.rules[name]
	if state == nil {
		state = &ruleState{}
		l.rules[name] = state
	}
	return state
}

// shadowReport counts what a Shadow rule would have refused, and writes a line about it from time to time.
type shadowReport struct {
	nextLine atomic.Int64 // not before, Unix nanoseconds
	refused  atomic.Int64 // since the last line
}

// shadowReportEvery is often enough to watch a rule, and too seldom for a flood to fill the log.
const shadowReportEvery = time.Minute

func (s *shadowReport) refuse(l *logger, rule string) {
	s.refused.Add(1)
	now, due := time.Now().UnixNano(), s.nextLine.Load()
	if now < due || !s.nextLine.CompareAndSwap(due, now+int64(shadowReportEvery)) {
		return
	}
	l.slog().Info("httplimit: a shadow rule would have refused", "rule", rule, "requests", s.refused.Swap(0))
}
