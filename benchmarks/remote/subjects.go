package main

import (
	"context"
	"time"
)

// subject is a limiter that is measured.
type subject struct {
	name string
	// open makes a limiter that counts in the server at addr.
	open func(addr string, limit int64, window time.Duration) (*opened, error)
	// runs says under which loads it is measured.
	runs func(load) bool
	kind kind
	// rules says which rules it has, where that is what is compared.
	rules string
}

// called returns the name of a measurement of the subject.
func (s subject) called(what string) string {
	if s.rules != "" {
		what += "/rules=" + s.rules
	}
	return what + "/limiter=" + s.name
}

type kind int

const (
	limits  kind = iota // it counts, and refuses who is over the limit
	counts              // it counts, and refuses nobody
	variant             // it differs from another one in its client only, and not in what the server keeps
	floor               // it does neither, and shows what the rest costs
)

func always(load) bool    { return true }
func allowed(l load) bool { return !l.refused }
func refused(l load) bool { return l.refused }

// unpaced is for those that cannot keep up with the slowest offered load on a small machine.
func unpaced(l load) bool { return l.offered == 0 }

// crowded is where callers share calls.
func crowded(l load) bool { return l.callers > 1 && !l.refused }

// busiest is for variants that would tell nothing more elsewhere.
func busiest(l load) bool { return l.callers > 1 && l.offered == 0 && !l.refused }

type opened struct {
	// session is how a goroutine begins: what it need not make anew each time is its own.
	session func() take
	close   func()
}

// take spends one request of key and reports whether that was allowed.
type take func(ctx context.Context, key string) (allowed bool, err error)

// none shows what it costs to measure.
func none(string, int64, time.Duration) (*opened, error) {
	return shared(func(context.Context, string) (bool, error) { return true, nil }, func() {}), nil
}

// shared is for limiters that goroutines share as they are.
func shared(t take, close func()) *opened {
	return &opened{session: func() take { return t }, close: close}
}
