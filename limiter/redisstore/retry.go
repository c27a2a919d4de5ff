package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	firstPause = 2 * time.Millisecond // a slot moves in less, a failover takes longer
	lastPause  = 50 * time.Millisecond
)

// do has the batch decided and returns when its outcome is there, when ctx ends, or when the batcher's timeout is over
// since the batch's start. After an error the batch may still be in a flight and must not be reused.
//
// What is known not to have been executed is tried again, by its own caller, so that the others in the flight have
// their outcomes. And only in the first half of its time, because a flight has no more than the first of its batches
// has left.
func (b *batcher) do(ctx context.Context, own *batch) error {
	own.order = own.sortKey(b.seed)
	own.order |= b.refused.order(own)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		again, err := b.run(ctx, own)
		if err == nil {
			b.refused.note(own)
			return nil
		}
		if !again || b.clock.Now()+pause > own.start+b.timeout/2 {
			return err
		}
		if !sleep(ctx, pause) {
			return ctx.Err()
		}
	}
}

// sleep waits, and reports whether ctx goes on after that.
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

// notExecuted reports whether an error proves that the script did not run: the connection never came to be, or the
// server itself refused. After any other the script may have spent, and to send it again could spend twice.
//
// READONLY comes from the first write of a script, before which nothing has changed.
func notExecuted(err error) bool {
	switch {
	case notReached(err):
		return true
	case redis.IsLoadingError(err), redis.IsReadOnlyError(err), redis.IsMasterDownError(err),
		redis.IsClusterDownError(err), redis.IsMaxClientsError(err), slotMoves(err):
		return true
	}
	return false
}

// slotMoves reports whether a slot of a Cluster is moving, so that the client could not find its server. The servers
// are well.
func slotMoves(err error) bool {
	for _, prefix := range []string{"TRYAGAIN ", "MOVED ", "ASK "} {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}
