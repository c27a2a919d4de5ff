package httplimit

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Observer is told what became of each request, for metrics and logs.
//
// Each request that reaches a [Middleware] is told once, when it is decided and before the handler is called or the
// refusal is answered, also if no rule applied to it. So is each [Middleware.Allow] that came to a decision. Peek is
// not told. What Spend adds, and what is given back later, is told to a [CostObserver].
//
// Observe is called in the request's goroutine, which waits for it, and by many requests at once: it should be quick,
// and be safe for that. What it panics with passes through to net/http; the request counts then. With nil as
// Config.Observer nothing is prepared or measured.
type Observer interface {
	// Observe is given the context of the request, or that of the call of Allow. o is not to be changed, and is valid
	// during the call only, with its Rules, its Request and their strings: [strings.Clone] keeps one. Names of rules and
	// the Namespace may be kept as they are.
	Observe(ctx context.Context, o *Observation)
}

// Observation is what became of a request, or of one call of [Middleware.Allow].
type Observation struct {
	Request   Request // nil for Allow; its HTTP is what a KeyFunc is given, so that the adapters' From works with it
	Namespace string  // that of the Config
	Status    int     // 0: the request passes to the handler; 429 or 503: it is refused
	// Time is when it was decided, by a clock that steps of the system's clock do not move.
	Time time.Time
	// Rules are those that applied, in the order of the Config, Private and Shadow ones too: empty if none did.
	Rules []Observed
	// Store is what the store took to decide all of the Rules together, more than 0 wherever it was asked, and 0 where
	// it was not: no rule applied, or the store refused from memory (SourceCache) and no strike had to be counted for a
	// Ban. If a rule has SourceLocal, ResultOpen or ResultClosed, the store could not decide.
	Store time.Duration
	// Remote reports that the Store of the Config is not a memstore, so that Store is the time of a call to a server.
	Remote bool
}

// StoreFailed reports whether the store could not decide: a rule has SourceLocal, ResultOpen or ResultClosed.
func (o *Observation) StoreFailed() bool {
	for i := range o.Rules {
		one := &o.Rules[i]
		if one.Source == SourceLocal || one.Result == ResultOpen || one.Result == ResultClosed {
			return true
		}
	}
	return false
}

// Observed is what one rule said of one request. Its JSON is that of the [Verdict], with "result", "key" and "noKey".
type Observed struct {
	// Verdict has the rule's name, the limit that held, the cost, who decided, and the Decision: of a Shadow rule what it
	// would have been. What was not judged has Allowed set and nothing else of a Decision.
	Verdict
	Result Result
	// Key is whose counter it is, as the store has it: a hash where the key is secret or Config.KeySecret is set. It is
	// for logs. Clients make as many of them as they like, so it is no label of a metric.
	Key string
	// NoKey reports that the request had no identity of its own under this rule: NoKey has found the key, or it is
	// the one that all ambiguous requests share. False for Allow.
	NoKey bool
}

// Observers returns an Observer that tells each of all, in this order. Those that are nil are left out; without any
// other it returns nil. What one of them panics with keeps the request from those after it.
func Observers(all ...Observer) Observer {
	all = slices.DeleteFunc(slices.Clone(all), func(o Observer) bool { return o == nil })
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return observers(all)
}

// checkObserver adds a fault for one that would panic at every request, and those of a LogObserver's options.
func checkObserver(o Observer, f *faults) {
	switch o := o.(type) {
	case observers:
		for _, one := range o {
			checkObserver(one, f)
		}
	case *logObserver:
		o.check(f)
	default:
		if nilPointer(o) {
			f.add("Observer", "it is a nil %T, want one that was made by its New, or no value at all", o)
		}
	}
}

type observers []Observer

func (all observers) Observe(ctx context.Context, o *Observation) {
	for _, one := range all {
		one.Observe(ctx, o)
	}
}

// observations keeps the memory of Observations, so that telling one allocates nothing. One whose Observer panicked
// does not come back.
var observations = sync.Pool{New: func() any { return new(Observation) }}

// observe tells the Observer, which there is, what was decided. r is nil for Allow.
func (d *decision) observe(r Request) {
	o := observations.Get().(*Observation)
	o.Request, o.Namespace, o.Status = r, d.s.namespace, d.status
	o.Store, o.Remote = d.asked, d.s.remote
	if o.Time = d.m.made.Add(d.at); d.at == 0 {
		o.Time = time.Now()
	}
	o.Rules = slices.Grow(o.Rules[:0], len(d.rules))[:len(d.rules)]
	for i := range d.rules {
		one := &o.Rules[i]
		one.Verdict, one.Result = d.verdict(i), d.result(i)
		one.Key, one.NoKey = d.charges[i].Key, d.rules[i].kind != ownKey
	}
	d.s.observer.Observe(d.ctx, o)
	for i := range o.Rules {
		o.Rules[i].Key = "" // holds on to no memory of the request; the other strings are the configuration's
	}
	o.Request = nil
	observations.Put(o)
}

// result returns what became of the request by rule i.
func (d *decision) result(i int) Result {
	r, c := &d.rules[i], &d.charges[i]
	switch {
	case r.unjudged:
		return ResultUnjudged
	case r.source == SourceNone:
		return r.undecided
	case r.ban != nil && r.banned:
		return ResultBanned
	case c.Allowed:
		return ResultAllowed
	case r.shadow:
		return ResultShadowRefused
	}
	return ResultRefused
}
