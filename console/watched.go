package console

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// ruleState is one rule as the page knows it: what is counted of it, and its configuration in each Middleware that has
// it.
type ruleState struct {
	id              string
	namespace, name string
	series          *series // nil: no request yet
	configs         []ruleConfig
}

// ruleConfig is a rule in one of the watched Middlewares.
type ruleConfig struct {
	middleware *httplimit.Middleware
	number     int // of the Middleware, from 1, in the order of Watch
	rule       httplimit.Rule
	config     *httplimit.Config
	health     *httplimit.Health // nil: its store decides
}

// ruleID returns the name of a rule in URLs. It stays the same over restarts.
func ruleID(namespace, name string) string {
	sum := sha256.Sum256([]byte(namespace + "\x00" + name))
	return hex.EncodeToString(sum[:8])
}

// storeState is a store of the watched Middlewares.
type storeState struct {
	store limiter.Store
	name  string
	kind  string
	stats *limiter.StoreStats // nil: it does not tell
	rules []string
}

// watch is what the watched Middlewares say at one moment.
type watch struct {
	rules     []*ruleState
	byID      map[string]*ruleState
	stores    []*storeState
	configs   []httplimit.Config
	instances int
}

// look asks the watched Middlewares. Rules stand in the order of Watch and of their configurations, and behind them
// those that were only observed.
func (c *Console) look() *watch {
	c.mu.Lock()
	middlewares := slices.Clone(c.watched)
	c.mu.Unlock()
	w := &watch{byID: make(map[string]*ruleState), instances: 1}
	for i, m := range middlewares {
		cfg := m.Config()
		if cfg.KeySecret != nil {
			cfg.KeySecret = []byte{} // that there is one may be shown
		}
		w.configs = append(w.configs, cfg)
		w.instances = max(w.instances, cfg.Instances)
		health := m.Health()
		for _, rule := range cfg.Rules {
			one := ruleConfig{middleware: m, number: i + 1, rule: rule, config: &w.configs[i]}
			if at := slices.IndexFunc(health, func(h httplimit.Health) bool { return h.Rule == rule.Name }); at >= 0 {
				one.health = &health[at]
			}
			r := w.rule(cfg.Namespace, rule.Name)
			r.configs = append(r.configs, one)
			w.addStore(cfg.Store, r.name)
		}
	}
	for _, s := range c.series.all() {
		w.rule(s.namespace, s.rule).series = s
	}
	return w
}

func (w *watch) rule(namespace, name string) *ruleState {
	id := ruleID(namespace, name)
	r := w.byID[id]
	if r == nil {
		r = &ruleState{id: id, namespace: namespace, name: name}
		w.byID[id] = r
		w.rules = append(w.rules, r)
	}
	return r
}

// addStore notes that a rule counts in a store.
func (w *watch) addStore(store limiter.Store, rule string) {
	for _, s := range w.stores {
		if sameStore(s.store, store) {
			if !slices.Contains(s.rules, rule) {
				s.rules = append(s.rules, rule)
			}
			return
		}
	}
	kind := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", store), "*"), ".Store")
	s := &storeState{store: store, kind: kind, rules: []string{rule}}
	if reporter, tells := store.(limiter.StatsReporter); tells {
		stats := reporter.Stats()
		s.stats = &stats
		s.name = stats.Name
	}
	s.name = cmp.Or(s.name, fmt.Sprintf("%s %d", kind, len(w.stores)+1))
	w.stores = append(w.stores, s)
}

// sameStore reports whether two stores are one: those that cannot be compared, or hold something that cannot, are not.
func sameStore(a, b limiter.Store) bool { return reflect.ValueOf(a).Comparable() && a == b }

// failing returns the configuration under which the store cannot decide the rule, nil if all is well.
func (r *ruleState) failing() *httplimit.Health {
	for i := range r.configs {
		if h := r.configs[i].health; h != nil {
			return h
		}
	}
	return nil
}

// key returns the Key of the rule, nil if the rule is not watched.
func (r *ruleState) key() httplimit.Key {
	if len(r.configs) == 0 {
		return nil
	}
	return r.configs[0].rule.Key
}
