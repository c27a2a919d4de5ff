package httplimit

import (
	"sync/atomic"

	"github.com/httplimit/httplimit/internal/clientip"
)

// lineKey is the leaf of a Key whose identity stands in a header field of one line. Lines that are equal are one. With
// different ones it is not clear which of them authentication reads, so neither counts: see ambiguousError.
type lineKey struct {
	textKey
	name     string // canonical, which saves writing it anew for each request
	several  *ambiguousError
	identity func(line string) (string, error)
}

func newLineKey(name string, identity func(line string) (string, error)) *lineKey {
	k := &lineKey{name: name, several: &ambiguousError{header: name}, identity: identity}
	k.textKey = k.of
	return k
}

func (k *lineKey) of(r Request) (string, error) {
	if line, ok := lendLine(r, k.name); ok {
		return k.identity(line)
	}
	lines := r.Values(k.name)
	switch {
	case len(lines) == 0:
		return "", ErrNoKey
	case clientip.Differ(lines):
		return "", k.several
	}
	return k.identity(lines[0])
}

func (k *lineKey) ambiguity(r Request) error {
	if clientip.Differ(r.Values(k.name)) {
		return k.several
	}
	return nil
}

// ambiguousError says that a header names more than one identity. It is not ErrNoKey: else a client would hide a
// credential behind another one, and be counted by its address while authentication accepts one of the two. All
// ambiguous requests of a rule share one bucket.
type ambiguousError struct {
	header string
	logged atomic.Bool
}

func (e *ambiguousError) Error() string {
	return e.header + " has lines of different values: a proxy may be adding lines where it should set the field"
}

// toLog returns e the first time, and nil later.
func (e *ambiguousError) toLog() error {
	if e.logged.Load() || e.logged.Swap(true) {
		return nil
	}
	return e
}

// asAmbiguous returns err if it is an ambiguousError, else nil. Nodes do not wrap it.
func asAmbiguous(err error) *ambiguousError {
	ambiguous, _ := err.(*ambiguousError)
	return ambiguous
}
