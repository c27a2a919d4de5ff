package redisstore_test

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/limiter/limitertest"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// conform runs the conformance suite with its cases side by side, each with a number of its own.
func conform(t *testing.T, harness func(t *testing.T, run int64) limitertest.Harness) {
	var runs atomic.Int64
	limitertest.Run(t, func(t *testing.T) limitertest.Harness {
		run := runs.Add(1)
		if run > 1 { // the first asks for the algorithms
			t.Parallel()
		}
		return harness(t, run)
	})
}

func TestStoreOnFakeServer(t *testing.T) {
	t.Parallel()
	conform(t, func(t *testing.T, _ int64) limitertest.Harness {
		server := startFake(t)
		store := newStore(t, connect(t, server.Addr()), redisstore.Config{DenyCache: -1})
		return limitertest.Harness{Store: store, Advance: server.advance}
	})
}

// account returns the options of a server that has the account of the README, beside one that may do everything.
func account(t *testing.T) (options []string, user, password string) {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rules, _ := strings.Cut(string(text), "ACL SETUSER ")
	rules, _, _ = strings.Cut(rules, "\n")
	words := strings.Fields(rules)
	if len(words) < 4 || words[1] != "on" || words[3] != "~shop:*" {
		t.Fatalf("the README's account is %q, want a name, on, a password and ~shop:*", rules)
	}
	return append([]string{"--user"}, words...), words[0], strings.TrimPrefix(words[2], ">")
}

// The store has no more rights than the README says that it needs.
func TestStoreOnServer(t *testing.T) {
	t.Parallel()
	options, user, password := account(t)
	client := redis.NewClient(&redis.Options{
		Addr: startRedis(t, options...), Username: user, Password: password, ContextTimeoutEnabled: true,
	})
	t.Cleanup(func() { client.Close() })
	if err := client.Set(t.Context(), "other:key", 1, 0).Err(); err == nil {
		t.Fatal("the account may write the keys of others")
	}
	conform(t, func(t *testing.T, run int64) limitertest.Harness {
		return limitertest.Harness{Store: newStore(t, client, redisstore.Config{Prefix: fmt.Sprintf("shop:%d:", run)})}
	})
}
