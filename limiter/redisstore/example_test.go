package redisstore_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

func ExampleNew() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", ContextTimeoutEnabled: true})
	store, err := redisstore.New(client, redisstore.Config{Prefix: "shop:"})
	if err != nil {
		log.Fatal(err)
	}
	mails, err := limiter.New(store, "mail", limiter.PerMinute(5), limiter.PerDay(100))
	if err != nil {
		log.Fatal(err)
	}
	switch decision, err := mails.Allow(context.Background(), "alice"); {
	case err != nil:
		fmt.Println("Redis cannot tell:", err)
	case !decision.Allowed:
		fmt.Println("try again in", decision.RetryAfter)
	default:
		fmt.Println("left:", decision.Remaining)
	}
}

// A program that is not to begin without Redis asks before it serves, and gets the real reason.
func ExampleStore_Ping() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", ContextTimeoutEnabled: true}) // where nothing listens
	defer client.Close()
	store, err := redisstore.New(client, redisstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	fmt.Println(store.Ping(ctx))
	// Output: redisstore: dial tcp 127.0.0.1:1: connect: connection refused
}

// Two programs over one server share counts where prefix and scope agree. A Prefix of its own keeps a program apart;
// braces would put all of its clients into one slot of a Cluster, so New refuses them.
func ExampleNew_prefix() {
	client := redis.NewClient(&redis.Options{})
	defer client.Close()
	_, err := redisstore.New(client, redisstore.Config{Prefix: "{shop}:", Timeout: -1})
	fmt.Println(err)
	// Output:
	// redisstore: Prefix is "{shop}:", want up to 64 printable ASCII characters without spaces and braces
	// redisstore: Timeout is -1ns, want 0 (50ms) or more
}
