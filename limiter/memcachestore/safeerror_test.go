package memcachestore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
	"github.com/httplimit/httplimit/limiter/memcachestore"
)

// alice is a charge whose key is that of a person, as the middleware writes it.
func alice(cost int64) limiter.Charge {
	return limiter.Charge{Scope: "s", Key: "alice%40example.com", Limit: limiter.PerHour(10), Cost: cost}
}

// wantNoKey fails if a text that a log could make of err holds the key.
func wantNoKey(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Error("no error, want one")
	}
	for ; err != nil; err = errors.Unwrap(err) {
		for _, format := range []string{"%v", "%+v", "%q", "%#v"} {
			if text := fmt.Sprintf(format, err); strings.Contains(strings.ToLower(text), "alice") {
				t.Errorf("an error shows the key: %s", text)
			}
		}
	}
}

// fakeServer answers each command with what answer makes of it.
func fakeServer(t *testing.T, answer func(command string) string) *memcache.Client {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					if _, err := fmt.Fprint(conn, answer(lines.Text())); err != nil {
						return
					}
				}
			}()
		}
	}()
	client := memcache.New(listener.Addr().String())
	client.Timeout = patient
	t.Cleanup(func() { client.Close() })
	return client
}

// gomemcache quotes the lines of the server, which hold keys.
func TestErrorsShowNoKey(t *testing.T) {
	echo := func(verbs ...string) func(string) string {
		return func(command string) string {
			verb, rest, _ := strings.Cut(command, " ")
			for _, v := range verbs {
				if v == verb {
					return "CLIENT_ERROR no " + rest + "\r\n"
				}
			}
			switch verb {
			case "gets":
				var items strings.Builder
				for key := range strings.FieldsSeq(rest) {
					fmt.Fprintf(&items, "VALUE %s 0 1 7\r\n5\r\n", key)
				}
				return items.String() + "END\r\n"
			case "incr", "decr":
				return "5\r\n"
			}
			return "OK\r\n"
		}
	}
	for name, answer := range map[string]func(string) string{
		"gets":   echo("gets"),
		"incr":   echo("incr"),
		"decr":   echo("decr"),
		"delete": echo("delete"),
		"a malformed answer": func(command string) string {
			verb, rest, _ := strings.Cut(command, " ")
			return "VALUE " + verb + " " + rest + "\r\n"
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t, fakeServer(t, answer), memcachestore.Config{Timeout: patient})
			failed := 0
			for _, cost := range []int64{1, 1, -1} {
				if _, err := store.Take(context.Background(), []limiter.Charge{alice(cost)}); err != nil {
					failed++
					wantNoKey(t, err)
				}
			}
			if err := store.Reset(context.Background(), []limiter.Charge{alice(0)}); err != nil {
				failed++
				wantNoKey(t, err)
			}
			if failed == 0 {
				t.Error("nothing failed")
			}
		})
	}
}

func TestErrorOfAValueThatIsNoCountShowsNoKey(t *testing.T) {
	server := sharedServer(t)
	client := newClient(t, server)
	clock := newClock()
	store := newStore(t, client, memcachestore.Config{Timeout: patient, Prefix: newPrefix(), Now: clock.Now})
	c := alice(1)
	take(t, store, c)
	window := clock.Now().UnixMilli() / c.Limit.Window.Milliseconds()
	key := fmt.Sprintf("test%d:s|%s|s3600000|%d", prefixes.Load(), c.Key, window)
	if err := client.Replace(&memcache.Item{Key: key, Value: []byte("no number of alice")}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // by incr, and by get
		_, err := store.Take(context.Background(), []limiter.Charge{c})
		wantNoKey(t, err)
		if !errors.Is(err, kvstore.ErrValue) || !strings.Contains(err.Error(), "Reset deletes it") {
			t.Errorf("got %v, want %v and what helps", err, kvstore.ErrValue)
		}
		store.Take(context.Background(), []limiter.Charge{alice(-1)}) // drops the cached count
	}
}

// A server that nobody listens on is named in the error, also while the breaker is open.
func TestErrorNamesTheServer(t *testing.T) {
	address := freeAddress(t)
	clock := newClock()
	store := newStore(t, memcache.New(address), memcachestore.Config{Timeout: patient, Now: clock.Now})
	want := "dial tcp " + address + ": connect: connection refused"
	for i := 0; store.Healthy(); i++ {
		_, err := store.Take(context.Background(), []limiter.Charge{alice(1)})
		wantNoKey(t, err)
		if !strings.Contains(err.Error(), want) {
			t.Errorf("call %d: got %v, want it to say %q", i, err, want)
		}
		clock.Advance(patient)
	}
	store = newStore(t, memcache.New(address), memcachestore.Config{})
	for end := time.Now().Add(time.Minute); store.Healthy(); {
		store.Take(context.Background(), []limiter.Charge{alice(1)})
		if time.Now().After(end) {
			t.Fatal("the breaker stays closed")
		}
	}
	_, err := store.Take(context.Background(), []limiter.Charge{alice(1)})
	for _, part := range []string{"unavailable since ", want, "next try in "} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("while the breaker is open: got %v, want it to say %q", err, part)
		}
	}
}
