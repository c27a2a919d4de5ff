package fleet_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/e2e/servers"
)

func TestRing(t *testing.T) {
	t.Parallel()
	a, b := servers.Redis(t), servers.Redis(t)
	addAccount(t, rules+" "+ringCommands, a.Addr(), b.Addr())
	client := redis.NewRing(&redis.RingOptions{
		Addrs:    map[string]string{"a": a.Addr(), "b": b.Addr()},
		Username: user, Password: password,
		ContextTimeoutEnabled: true,
	})
	t.Cleanup(func() { client.Close() })
	conform(t, client)
	wantKeys(t, a.Addr())
	wantKeys(t, b.Addr())
}
