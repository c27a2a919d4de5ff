package fleet_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// The account of the store's clients, in all tests of this package, and its rules: what scripts call and go-redis asks.
const (
	user, password = "limits", "secret"
	prefix         = "fleet:"
	rules          = "~fleet:* +eval +evalsha +time +get +set +incrby +del +pttl +pexpire" +
		" +rpush +lrange +lindex +llen +lset +ltrim"
	clusterRules = rules + " +cluster|slots +cluster|shards +command +asking"
	ringRules    = rules + " +ping"
)

// withAccount are the options of a server that has the account beside one that may do everything, which is without a
// password.
func withAccount(rules string) []string {
	return append([]string{"--user", user, "on", ">" + password}, strings.Fields(rules)...)
}

func TestAccountWithTheFewestRights(t *testing.T) {
	server := servers.Redis(t, withAccount(rules)...)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Username: user, Password: password, ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	conform(t, client)
	wantKeys(t, server.Addr())
	t.Run("keys of others", func(t *testing.T) {
		store := newStore(t, client, redisstore.Config{Prefix: "other:"})
		charges := []limiter.Charge{{Scope: "scope", Key: "key", Limit: limiter.PerMinute(1), Cost: 1}}
		if _, err := store.Take(t.Context(), charges); err == nil || !strings.Contains(err.Error(), "NOPERM") {
			t.Errorf("got %v, want an error that tells NOPERM", err)
		}
	})
}
