package kvstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/httplimit/httplimit/limiter/storekit"
)

const (
	// maxErrorText bounds what an error of a KV writes into a log, in bytes.
	maxErrorText = 300
	// shortPart is up to how many bytes a part of a key counts as named only where it stands alone: "7" is no part of
	// "port 11211".
	shortPart = 4
)

// safeError is an error of a KV whose text is fit for a log: it holds no key and is bounded. [errors.Is] and
// [errors.As] find what the KV returned, but no text of it is found by unwrapping.
type safeError struct {
	text string
	err  error
}

func (e *safeError) Error() string { return e.text }

// GoString keeps %#v from printing err.
func (e *safeError) GoString() string { return fmt.Sprintf("kvstore.safeError(%q)", e.text) }

func (e *safeError) Is(target error) bool { return errors.Is(e.err, target) }

func (e *safeError) As(target any) bool { return errors.As(e.err, target) }

// safe returns err if its text is known to hold no key, else an error that stands for it. The KV may have put into its
// text what it was asked for: the names of the counters.
func safe(err error, counters []counter) error {
	if err == nil || known(err) {
		return err
	}
	text := err.Error()
	if !names(text, counters) {
		if len(text) <= maxErrorText {
			return &safeError{text: text, err: err}
		}
		return &safeError{text: strings.ToValidUTF8(text[:maxErrorText], "") + "…", err: err}
	}
	text = fmt.Sprintf("kvstore: the KV returned a %T, whose text is left out because it names a key", err)
	if cause := knownCause(err); cause != nil {
		text += ": " + cause.Error()
	}
	return &safeError{text: text, err: err}
}

// known reports whether the text of err is made of nothing that the KV was asked for.
func known(err error) bool {
	switch err {
	case context.Canceled, context.DeadlineExceeded, os.ErrDeadlineExceeded, net.ErrClosed,
		io.EOF, io.ErrUnexpectedEOF, ErrValue, storekit.ErrOpen, storekit.ErrBusy, errRaced, errExited:
		return true
	}
	switch err := err.(type) {
	case *safeError, syscall.Errno, *net.DNSError:
		return true
	case *os.SyscallError:
		return known(err.Err)
	case *net.OpError:
		return known(err.Err)
	}
	return false
}

// knownCause returns the first error in the tree of err that is known, or nil.
func knownCause(err error) error {
	if err == nil || known(err) {
		return err
	}
	switch err := err.(type) {
	case interface{ Unwrap() error }:
		return knownCause(err.Unwrap())
	case interface{ Unwrap() []error }:
		for _, e := range err.Unwrap() {
			if cause := knownCause(e); cause != nil {
				return cause
			}
		}
	}
	return nil
}

// names reports whether text holds the key of one of the counters or a part of it, escaped or not.
func names(text string, counters []counter) bool {
	text = strings.ToLower(text)
	for i := range counters {
		key := counters[i].key()
		if holds(text, key) {
			return true
		}
		for _, part := range strings.FieldsFunc(key, func(r rune) bool { return r == ':' || r == '/' }) {
			if holds(text, part) {
				return true
			}
		}
	}
	return false
}

// holds reports whether the lower-case text holds part, as it is or in one of the forms in which programs print it.
func holds(text, part string) bool {
	plain, err := url.PathUnescape(part)
	if err != nil {
		plain = part
	}
	for _, form := range []string{part, plain, url.PathEscape(plain), url.QueryEscape(plain), quoted(plain)} {
		form = strings.ToLower(form)
		if form != "" && (contains(text, form) || contains(text, url.PathEscape(form))) {
			return true
		}
	}
	return false
}

func quoted(s string) string {
	q := fmt.Sprintf("%q", s)
	return q[1 : len(q)-1]
}

// contains reports whether text holds part. A short part must stand alone.
func contains(text, part string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], part)
		if at < 0 {
			return false
		}
		at += from
		if len(part) > shortPart {
			return true
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(part):])
		if !isWord(before) && !isWord(after) {
			return true
		}
		from = at + 1
	}
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
