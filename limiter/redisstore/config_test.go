package redisstore_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/limiter/redisstore"
)

func TestNewReportsEveryFault(t *testing.T) {
	_, err := redisstore.New(nil, redisstore.Config{Prefix: strings.Repeat("p", 65), Timeout: -time.Second})
	if err == nil {
		t.Fatal("no error from a nil client, a prefix too long and a negative time-out")
	}
	for _, field := range []string{"client", "Prefix", "Timeout"} {
		if !strings.Contains(err.Error(), "redisstore: "+field) {
			t.Errorf("got %q, want a fault of %s", err, field)
		}
	}
	_, err = redisstore.New((*redis.Client)(nil), redisstore.Config{})
	if err == nil || !strings.Contains(err.Error(), "redisstore: client") {
		t.Errorf("a nil *redis.Client: got %v, want a fault of client", err)
	}
	for _, prefix := range []string{"a b:", "a{b", "a}b", "ä:", "a\n"} {
		if _, err := redisstore.New(unknown{}, redisstore.Config{Prefix: prefix}); err == nil {
			t.Errorf("prefix %q: no error", prefix)
		}
	}
}

func TestStatsTellTheName(t *testing.T) {
	if got := newStore(t, unknown{}, redisstore.Config{Name: "visits"}).Stats().Name; got != "visits" {
		t.Errorf("got %q, want visits", got)
	}
}

func TestNewNamesTheOptionThatCosts(t *testing.T) {
	for _, heeds := range []bool{true, false} {
		var log bytes.Buffer
		client := redis.NewClient(&redis.Options{ContextTimeoutEnabled: heeds})
		newStore(t, client, redisstore.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if got := strings.Contains(log.String(), "ContextTimeoutEnabled"); got == heeds {
			t.Errorf("with ContextTimeoutEnabled %v the log says %q", heeds, log.String())
		}
		client.Close()
	}
}
