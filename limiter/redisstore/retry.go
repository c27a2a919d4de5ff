package redisstore

import (
	"errors"
	"net"

	"github.com/redis/go-redis/v9"
)

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
		redis.IsClusterDownError(err), redis.IsTryAgainError(err), redis.IsMaxClientsError(err):
		return true
	}
	return false
}
