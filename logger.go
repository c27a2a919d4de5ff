package httplimit

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// logger writes the log of a Middleware: what repeats is written once. It outlives a Reconfigure. Safe for concurrent
// use.
type logger struct {
	out atomic.Pointer[slog.Logger] // nil: slog.Default()

	mu   sync.Mutex
	seen map[string]map[string]*texts // by rule, "" for all of them, and by message
}

// texts are the causes of one message that were written lately.
type texts struct {
	written []string
	fullAt  time.Time // when there were too many; zero: not yet
}

// Clients can influence the text of an error, such as a LimitFunc's `no plan for "alice"`. They must neither fill the
// log or the memory with it, nor keep other causes out of the log for ever.
const (
	maxMessages = 64  // for each rule; there are fewer in the code
	maxTexts    = 16  // for each message; what comes then is silent
	maxText     = 256 // bytes
	silence     = time.Hour
)

func newLogger() *logger { return &logger{seen: make(map[string]map[string]*texts)} }

func (l *logger) slog() *slog.Logger {
	if out := l.out.Load(); out != nil {
		return out
	}
	return slog.Default()
}

// warnOnce writes a fault of a rule, or of all rules if rule is "": once a cause, for 16 causes. One line more says
// that further ones are not written, and an hour later it begins anew.
func (l *logger) warnOnce(rule, message string, cause error) {
	text := clip(cause.Error())
	switch l.note(rule, message, text) {
	case textIsNew:
		l.slog().Warn("httplimit: "+message, "rule", rule, "cause", text)
	case textIsTooMany:
		l.slog().Warn("httplimit: "+message+"; further causes are not logged for a while",
			"rule", rule, "logged", maxTexts, "silence", silence)
	}
}

// warnSetup writes a warning about the setup around the service, once a code.
func (l *logger) warnSetup(code, message string) {
	if l.note("", code, "") == textIsNew {
		l.slog().Warn("httplimit: "+message, "code", code)
	}
}

// clip returns as much of an error's text as the log shows.
func clip(text string) string {
	if len(text) > maxText {
		return text[:maxText] + "..."
	}
	return text
}

// noted is what becomes of a text.
type noted int

const (
	textIsKnown   noted = iota // it is written already, or not to be written
	textIsNew                  // to be written
	textIsTooMany              // the first that is not written any more
)

// note takes note of a text.
func (l *logger) note(rule, message, text string) noted {
	l.mu.Lock()
	defer l.mu.Unlock()
	messages := l.seen[rule]
	if messages == nil {
		messages = make(map[string]*texts)
		l.seen[rule] = messages
	}
	t := messages[message]
	switch {
	case t == nil && len(messages) >= maxMessages:
		return textIsKnown
	case t == nil:
		t = &texts{}
		messages[message] = t
	case !t.fullAt.IsZero() && time.Since(t.fullAt) >= silence:
		*t = texts{}
	}
	return t.note(text)
}

func (t *texts) note(text string) noted {
	switch {
	case slices.Contains(t.written, text) || !t.fullAt.IsZero():
		return textIsKnown
	case len(t.written) >= maxTexts:
		t.fullAt = time.Now()
		return textIsTooMany
	}
	t.written = append(t.written, strings.Clone(text)) // it may lie in a buffer that a framework overwrites
	return textIsNew
}

// forget drops what was seen of rules that are not in s. A request that is still under way by an older configuration
// may add to it again, until the next call.
func (l *logger) forget(s *settings) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.seen, func(rule string, _ map[string]*texts) bool { return rule != "" && s.find(rule) == nil })
}

// ruleState is what outlives a Reconfigure that keeps the name of a rule. It belongs to the settings, and goes with
// them.
type ruleState struct {
	health health
	shadow shadowReport
	seen   seenLimits
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
