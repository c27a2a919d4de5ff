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

// The account of the store's clients in all tests of this package, and its rights.
const (
	user, password = "limits", "secret"
	prefix         = "fleet:"

	rules = "~" + prefix + "* " + commands
	// commands are those that scripts call and those that call scripts; the others are what kinds of clients also need.
	commands = "+eval +evalsha +time +get +mget +set +setrange +incrby +del +pttl +pexpire " +
		"+rpush +lrange +lindex +llen +lset +ltrim"
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
			t.Errorf("limiter/redisstore/README.md does not say that an account needs %q", want)
		}
	}
}

// addAccount creates the account on servers, beside the default one, which may do everything without a password.
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
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Username: user, Password: password,
		ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	conform(t, client)
	wantKeys(t, server.Addr())
	t.Run("keys of others", func(t *testing.T) {
		store := newStore(t, client, redisstore.Config{Prefix: "other:"})
		charges := []limiter.Charge{{Scope: "scope", Key: "key", Limit: limiter.PerMinute(1), Cost: 1}}
		if _, err := store.Take(t.Context(), charges); err == nil || !strings.Contains(err.Error(), "NOPERM") {
			t.Errorf("got %v, want an error that says NOPERM", err)
		}
	})
}
