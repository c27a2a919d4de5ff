package redisstore

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	firstPause = 2 * time.Millisecond // a failover takes longer, a slot on its way not
	lastPause  = 50 * time.Millisecond
)

// do has the batch decided and returns when its outcome is there, when ctx ends, or when the lane's timeout is over
// since the batch's start. After an error the batch may still be on its way and must not be reused.
//
// What is known not to have been executed is tried again, by its own caller, so that those who were aboard with it
// have their outcomes. And only in the first half of its time, because a trip has no more than the first of its
// batches has left.
func (l *lane) do(ctx context.Context, b *batch) error {
	b.order = b.placed(l.seed)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		again, err := l.ride(ctx, b)
		if !again || l.clock.Now()+pause > b.start+l.timeout/2 {
			return err
		}
		if !sleep(ctx, pause) {
			return ctx.Err()
		}
	}
}

// sleep waits, and tells whether ctx goes on after that.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// notExecuted tells whether an error proves that the script did not run: the connection never came to be, or the
// server itself refused. After any other the script may have spent, and to send it again could spend twice.
//
// READONLY comes from the first write of a script, before which nothing has changed.
func notExecuted(err error) bool {
	var network *net.OpError
	switch {
	case errors.As(err, &network):
		return network.Op == "dial"
	case redis.IsLoadingError(err), redis.IsReadOnlyError(err), redis.IsMasterDownError(err),
		redis.IsClusterDownError(err), redis.IsMaxClientsError(err), onTheMove(err):
		return true
	}
	return false
}

// onTheMove tells whether a slot of a Cluster is, of which the client could not find the way. The servers are well.
func onTheMove(err error) bool {
	for _, prefix := range []string{"TRYAGAIN ", "MOVED ", "ASK "} {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}
