package memcachestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/httplimit/httplimit/limiter/kvstore"
)

// timeoutError returns err; if err is a time-out the result wraps [context.DeadlineExceeded] too, as all time-outs of
// the store do. The client has several forms of time-outs: a type of its own for dialling, which is no [net.Error],
// [os.ErrDeadlineExceeded] for reading and writing, and the ETIMEDOUT of the operating system.
func timeoutError(err error) error {
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var dialling *memcache.ConnectTimeoutError
	var network net.Error
	if errors.As(err, &dialling) || errors.As(err, &network) && network.Timeout() {
		return fmt.Errorf("memcachestore: no answer in time: %w (%w)", context.DeadlineExceeded, err)
	}
	return err
}

// changeError returns the error of incr or decr. They are refused if the item holds no number: the client has no value
// for that error, and they are refused for no other reason here.
func changeError(err error) error {
	if err != nil && strings.HasPrefix(err.Error(), "memcache: client error: ") {
		return fmt.Errorf("memcachestore: an item of another program: %w (%w); Reset deletes it", kvstore.ErrValue, err)
	}
	return timeoutError(err)
}

// isClosed reports whether err says that the server has closed the connection.
func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
