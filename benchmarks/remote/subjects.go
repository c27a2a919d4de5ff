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
	// answers are what it is measured with; it allows everything, or differs from another only in refusals.
	answers answers
}

type answers int

const (
	both answers = iota
	allowed
	refused
)

func (s subject) runs(l load) bool {
	return s.answers == both || (s.answers == refused) == l.refused
}

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
