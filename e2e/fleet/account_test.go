package fleet_test

import (
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// The account of the store's clients, in all tests of this package, and what it may do.
const (
	user, password = "limits", "secret"
	prefix         = "fleet:"

	rules = "~" + prefix + "* " + commands
	// commands are what scripts call and what calls them; the others, what kinds of clients ask besides.
	commands        = "+eval +evalsha +time +get +mget +set +incrby +del +pttl +pexpire +rpush +lrange +lindex +llen +lset +ltrim"
	clusterCommands = "+cluster|slots +cluster|shards +command +asking"
	ringCommands    = "+ping"
)

func TestAccountIsThatOfTheREADME(t *testing.T) {
	readme, err := os.ReadFile("../../limiter/redisstore/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{commands, clusterCommands, ringCommands} {
		if !strings.Contains(string(readme), want) {
			t.Errorf("limiter/redisstore/README.md does not tell that an account needs %q", want)
		}
	}
}

// addAccount makes the account on servers. Beside it is one that may do everything, without a password.
func addAccount(t *testing.T, rules string, addrs ...string) {
	t.Helper()
	for _, addr := range addrs {
		command := []any{"ACL", "SETUSER", user, "on", ">" + password}
		for _, rule := range strings.Fields(rules) {
			command = append(command, rule)
		}
		text(t, operator(t, addr), command...)
	}
}

func TestAccountWithTheFewestRights(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t)
	addAccount(t, rules, server.Addr())
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
