package memstore_test

import (
	"context"
	"fmt"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// One store serves every limit of a program: it has one bound on memory then, and one clock.
func ExampleNew() {
	store, err := memstore.New(memstore.Config{MaxKeys: 100_000})
	if err != nil {
		panic(err)
	}
	logins, err := limiter.New(store, "login", limiter.PerMinute(2), limiter.PerDay(100))
	if err != nil {
		panic(err)
	}
	for range 3 {
		d, err := logins.Allow(context.Background(), "alice")
		if err != nil {
			panic(err)
		}
		fmt.Println(d.Allowed)
	}
	fmt.Println(store.Stats().Entries, "counters")
	// Output:
	// true
	// true
	// false
	// 2 counters
}

// A key that comes from the client without proof costs the client nothing to change: a client that sends a new one
// each time is never refused. The store stays inside its bound, but it cannot know better; limit what the client
// cannot choose, such as its address.
func ExampleNew_incorrect() {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		panic(err)
	}
	perSession, err := limiter.New(store, "session", limiter.PerHour(1))
	if err != nil {
		panic(err)
	}
	for i := range 3 {
		cookie := fmt.Sprint("made up ", i)
		d, err := perSession.Allow(context.Background(), cookie)
		if err != nil {
			panic(err)
		}
		fmt.Println(d.Allowed)
	}
	// Output:
	// true
	// true
	// true
}
