package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// lateError is the error of a call whose time was over. It says why, where that is known.
type lateError struct {
	timeout time.Duration
	why     error // nil if unknown
}

func (e *lateError) Error() string {
	why := e.why
	if why == nil {
		why = context.DeadlineExceeded
	}
	return fmt.Sprintf("redisstore: no answer within %v: %s", e.timeout, strings.TrimPrefix(why.Error(), "redisstore: "))
}

// Unwrap returns context.DeadlineExceeded and the reason.
func (e *lateError) Unwrap() []error {
	if e.why == nil {
		return []error{context.DeadlineExceeded}
	}
	return []error{context.DeadlineExceeded, e.why}
}

// tooLate returns the error of a flight whose time is over.
func (b *batcher) tooLate() error {
	why := b.breaker.Cause()
	var late *lateError
	if errors.As(why, &late) {
		why = late.why
	}
	return &lateError{timeout: b.timeout, why: why}
}

// isReply reports whether the error is one that a server has answered.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// isUnanswered reports whether the error is one of a call that got no answer. That of a late one may quote a reply from
// before.
func isUnanswered(err error) bool {
	var late *lateError
	return errors.As(err, &late) || !isReply(err)
}

// notReached reports whether nothing was sent, because no connection came to be.
func notReached(err error) bool {
	var network *net.OpError
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &network) && network.Op == "dial" || errors.As(err, &certificate)
}

// notSent reports whether the client has sent nothing: it reached no server, or had no connection to give.
func notSent(err error) bool {
	return notReached(err) || errors.Is(err, redis.ErrClosed) || errors.Is(err, redis.ErrPoolTimeout)
}

// authWords are how servers answer a client whose name or password they do not accept, or that has sent none: Redis
// from 6 and before, its ports, services and proxies. Lower case.
var authWords = []string{
	"noauth", "wrongpass", "wronguser", "disableduser", "unauthenticated", "unauthorized", "denied redis is running",
	"invalid password", "invalid username-password", "auth failed", "authentication required", "authentication failed",
	"auth <password> called without", "client sent auth", "operation not permitted", "failed to authenticate",
}

// unauthenticated returns the error, and says in plain words what it means if the server does not accept the client.
func unauthenticated(err error) error {
	if err == nil || !isReply(err) && !strings.HasPrefix(err.Error(), "failed to authenticate") {
		return err
	}
	text := strings.ToLower(strings.TrimPrefix(err.Error(), "redisstore: "))
	for _, word := range authWords {
		if strings.Contains(text, word) {
			return &authError{err}
		}
	}
	return err
}

// authError is the error of a server that does not accept the client.
type authError struct{ reply error }

func (e *authError) Error() string {
	return "the server does not let this client in, for its name, password or address: " + e.reply.Error()
}

func (e *authError) Unwrap() error { return e.reply }

// withoutKeys returns the error with the names of the batches' keys taken out of its text: some servers quote them, and
// they are clients.
func withoutKeys(err error, batches []*batch) error {
	text := err.Error()
	for _, b := range batches {
		for _, key := range b.keys {
			text = strings.ReplaceAll(text, key, "(a key)")
		}
	}
	if text == err.Error() {
		return err
	}
	return &keylessError{error: err, text: text}
}

// keylessError is an error with another text.
type keylessError struct {
	error
	text string
}

func (e *keylessError) Error() string { return e.text }

func (e *keylessError) Unwrap() error { return e.error }
