package console

import (
	"log/slog"
	"slices"
	"sync"
	"time"
)

// activity is one thing that an operator did.
type activity struct {
	Time     time.Time `json:"time"`
	Operator string    `json:"operator"`
	Action   string    `json:"action"`
	RuleID   string    `json:"ruleId"`
	Rule     string    `json:"rule"`
	Key      string    `json:"key"` // as the store has it
	keyText
	Error string `json:"error,omitempty"`
}

// maxActivities bounds the list; the log has all of them.
const maxActivities = 200

// activities are the latest things that operators did. Safe for concurrent use.
type activities struct {
	mu     sync.Mutex
	latest []activity // the oldest first
}

// note adds an activity, and writes it into the log: with the key as the store has it, which is a hash where the
// identity is secret.
func (a *activities) note(log *slog.Logger, one activity) {
	a.mu.Lock()
	if len(a.latest) >= maxActivities {
		a.latest = slices.Delete(a.latest, 0, 1)
	}
	a.latest = append(a.latest, one)
	a.mu.Unlock()
	if one.Error != "" {
		log.Warn("httplimit: an operator could not reset a client",
			"operator", one.Operator, "rule", one.Rule, "key", one.Key, "error", one.Error)
		return
	}
	log.Info("httplimit: an operator has reset a client",
		"operator", one.Operator, "rule", one.Rule, "key", one.Key)
}

// list returns the activities, the latest first.
func (a *activities) list() []activity {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := slices.Clone(a.latest)
	slices.Reverse(list)
	if list == nil {
		list = []activity{}
	}
	return list
}
