package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
)

// The identity of a client, and its key as the middleware writes it.
const (
	identity = "alice@example.com"
	stored   = "alice%40example.com"
)

var errOwn = errors.New("the KV's own")

// textsOf returns every text that a log could make of err.
func textsOf(err error) (texts []string) {
	if err == nil {
		return nil
	}
	texts = append(texts, err.Error())
	for _, format := range []string{"%v", "%+v", "%q", "%s", "%x", "%#v"} {
		texts = append(texts, fmt.Sprintf(format, err))
	}
	switch err := err.(type) {
	case interface{ Unwrap() error }:
		texts = append(texts, textsOf(err.Unwrap())...)
	case interface{ Unwrap() []error }:
		for _, e := range err.Unwrap() {
			texts = append(texts, textsOf(e)...)
		}
	}
	return texts
}

func wantNoKey(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Error("no error, want one")
	}
	for _, text := range textsOf(err) {
		for _, secret := range []string{"alice", fmt.Sprintf("%x", "alice")} {
			if strings.Contains(strings.ToLower(text), secret) {
				t.Errorf("an error shows the key: %s", text)
			}
		}
	}
}

// Whatever a KV puts into its errors, no error of the store shows a key, and programs find what the KV returned.
func TestErrorsShowNoKey(t *testing.T) {
	for name, text := range map[string]func(key string) string{
		"the key of the KV":    func(key string) string { return "no item " + key },
		"quoted":               func(key string) string { return fmt.Sprintf("no item %q", key) },
		"the key alone":        func(string) string { return "cannot read <" + stored + ">" },
		"the identity":         func(string) string { return "user " + identity + " is unknown" },
		"a part of it":         func(string) string { return "user ALICE%40EXAMPLE.COM" },
		"escaped twice":        func(string) string { return url.PathEscape(stored) },
		"in a composed key":    func(string) string { return "tenant of " + identity },
		"beyond what is shown": func(key string) string { return strings.Repeat("-", 290) + key },
	} {
		for _, operation := range []string{"get", "add", "subtract", "panic"} {
			for _, direct := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, direct %v", name, operation, direct), func(t *testing.T) {
					failing := func(key string) error { return fmt.Errorf("%s: %w", text(key), errOwn) }
					kv := hooked{KV: newMapKV(time.Now)}
					kv.get = func(_ context.Context, keys []string) error {
						switch operation {
						case "get":
							return failing(keys[0])
						case "panic":
							panic(text(keys[0]))
						}
						return nil
					}
					kv.add = func(_ context.Context, key string, delta int64) error {
						if operation == "add" || operation == "subtract" && delta < 0 {
							return failing(key)
						}
						if operation == "panic" {
							panic(text(key))
						}
						return nil
					}
					store := newStore(t, kv, kvstore.Config{Timeout: patient, Direct: direct})
					c := limiter.Charge{Scope: "s", Key: stored, Limit: limiter.PerMinute(10), Cost: 1}
					if name == "in a composed key" {
						c.Key = "acme:" + stored
					}
					batch := []limiter.Charge{c}
					if operation == "subtract" {
						refund := c
						refund.Cost = -1
						if _, err := store.Take(context.Background(), batch); err != nil {
							t.Fatal(err)
						}
						batch[0] = refund
					}
					_, err := store.Take(context.Background(), batch)
					wantNoKey(t, err)
					if operation != "panic" && !errors.Is(err, errOwn) {
						t.Errorf("errors.Is does not find what the KV returned in %v", err)
					}
					if operation != "get" {
						wantNoKey(t, store.Reset(context.Background(), batch))
					}
				})
			}
		}
	}
}

// What tells the operator the cause stays, also where the text around it is left out.
func TestErrorsTellTheirCause(t *testing.T) {
	refused := &net.OpError{
		Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1},
		Err: syscall.ECONNREFUSED,
	}
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"an error of the network":        {refused, "dial tcp 127.0.0.1:1: connect: connection refused"},
		"with the key around it":         {fmt.Errorf("item %s: %w", stored, refused), "dial tcp 127.0.0.1:1: "},
		"joined with others":             {errors.Join(errors.New(stored), io.ErrUnexpectedEOF), "unexpected EOF"},
		"a text of the KV's own":         {errors.New("the table is locked"), "the table is locked"},
		"its type where the text is not": {errors.New(stored), "*errors.errorString"},
		"the beginning of a long text":   {errors.New("locked" + strings.Repeat(".", 1e6)), "locked..."},
	} {
		t.Run(name, func(t *testing.T) {
			kv := hooked{KV: newMapKV(time.Now), get: func(context.Context, []string) error { return tc.err }}
			store := newStore(t, kv, kvstore.Config{Timeout: patient})
			c := limiter.Charge{Scope: "s", Key: stored, Limit: limiter.PerMinute(10), Cost: 1}
			_, err := store.Take(context.Background(), []limiter.Charge{c})
			wantNoKey(t, err)
			if err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(tc.want, "connect: connection refused")) {
				t.Errorf("got %v, want it to say %q", err, tc.want)
			}
			if len(fmt.Sprint(err)) > 400 {
				t.Errorf("an error of %d bytes", len(fmt.Sprint(err)))
			}
		})
	}
}

// While the breaker is open every error says since when and why, and shows no key.
func TestOpenBreakerTellsTheCause(t *testing.T) {
	clock := newClock()
	kv := hooked{KV: newMapKV(clock.Now), get: func(_ context.Context, keys []string) error {
		return fmt.Errorf("item %s: %w", keys[0], syscall.ECONNREFUSED)
	}}
	store := newStore(t, kv, kvstore.Config{Now: clock.Now})
	c := limiter.Charge{Scope: "s", Key: stored, Limit: limiter.PerMinute(10), Cost: 1}
	for store.Healthy() {
		store.Take(context.Background(), []limiter.Charge{c})
		clock.Advance(30 * time.Millisecond)
	}
	_, err := store.Take(context.Background(), []limiter.Charge{c})
	wantNoKey(t, err)
	for _, want := range []string{"unavailable since ", "connection refused", "next try in "} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("got %v, want it to say %q", err, want)
		}
	}
}
