package httplimit

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// journal is the middleware's log: what repeats is written once. It outlives a Reconfigure, with the state of the
// rules in it. Safe for concurrent use.
type journal struct {
	logger atomic.Pointer[slog.Logger] // nil: slog.Default()

	mu    sync.Mutex
	said  map[topic]map[string]bool // texts by topic
	rules map[string]*ruleState
}

// ruleState is what outlives a Reconfigure of a rule.
type ruleState struct {
	health health
	trial  trial
}

// topic is what a repeated message is about.
type topic struct{ rule, what string }

// maxTexts and maxText bound what one topic may write and remember: a client can influence the text of an error, and must
// neither fill the log nor keep the other topics out of it.
const (
	maxTexts = 16
	maxText  = 256 // bytes
)

func newJournal() *journal {
	return &journal{said: make(map[topic]map[string]bool), rules: make(map[string]*ruleState)}
}

func (j *journal) log() *slog.Logger {
	if l := j.logger.Load(); l != nil {
		return l
	}
	return slog.Default()
}

// first tells whether it is the first time that this is said.
func (j *journal) first(about topic, text string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	texts := j.said[about]
	if texts == nil {
		texts = make(map[string]bool)
		j.said[about] = texts
	}
	if texts[text] || len(texts) >= maxTexts {
		return false
	}
	texts[text] = true
	return true
}

// once writes a fault of a function in a rule, once per cause, for the first 16 causes.
func (j *journal) once(rule, what string, cause error) {
	text := cause.Error()
	if len(text) > maxText {
		text = text[:maxText] + "..."
	}
	if j.first(topic{rule, what}, text) {
		j.log().Warn("httplimit: "+what, "rule", rule, "cause", text)
	}
}

// warn writes a warning about the configuration, once per code.
func (j *journal) warn(code, message string) {
	if j.first(topic{what: code}, "") {
		j.log().Warn("httplimit: "+message, "code", code)
	}
}

// rule returns the state of a rule, the same one for as long as the journal lives.
func (j *journal) rule(name string) *ruleState {
	j.mu.Lock()
	defer j.mu.Unlock()
	state := j.rules[name]
	if state == nil {
		state = &ruleState{}
		j.rules[name] = state
	}
	return state
}

// trial counts what a Shadow rule would have refused, and writes a line about it now and then.
type trial struct {
	due     atomic.Int64 // when the next line may be written, Unix nanoseconds
	refused atomic.Int64 // since the last line
}

// trialEvery is how often a rule on trial may write: often enough to watch it, too seldom for a flood to fill the log.
const trialEvery = time.Minute

func (t *trial) refuse(j *journal, rule string) {
	t.refused.Add(1)
	now, due := time.Now().UnixNano(), t.due.Load()
	if now < due || !t.due.CompareAndSwap(due, now+int64(trialEvery)) {
		return
	}
	j.log().Info("httplimit: a rule on trial would have refused", "rule", rule, "requests", t.refused.Swap(0))
}
