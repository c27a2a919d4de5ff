package kvstore

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

	"github.com/httplimit/httplimit/limiter/storekit"
)

// reconnector has a KV drop its idle connections, when calls time out and that may be why.
type reconnector struct {
	kv    Reconnector // nil: the KV is none
	fresh atomic.Bool // the next probe follows a Reconnect
}

func newReconnector(kv KV) *reconnector {
	r := &reconnector{}
	r.kv, _ = kv.(Reconnector)
	return r
}

// due reports whether the connections are to be dropped after a call has failed with err, which opened the breaker or
// was a probe of it. After a probe on new connections they are not.
func (r *reconnector) due(permit storekit.Permit, err error) bool {
	if r.kv == nil {
		return false
	}
	after := r.fresh.Swap(false) && permit.Probe()
	if after || !isTimeout(err) {
		return false
	}
	r.fresh.Store(true)
	return true
}

// reconnect has the KV drop its idle connections, and the next probe follow at once.
func (s *Store) reconnect() {
	err := s.calls.Run(context.Background(), s.timeout, func(context.Context) error {
		s.reconnector.kv.Reconnect()
		return nil
	})
	if err == nil {
		s.breaker.Hasten(s.clock.Now())
	}
}

// isTimeout reports whether err says that no answer came in time.
func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}
