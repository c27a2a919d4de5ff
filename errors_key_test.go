package httplimit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
)

// tellingKV fails, and says for what.
type tellingKV struct{}

func (tellingKV) Get(_ context.Context, keys ...string) ([]int64, error) {
	return nil, fmt.Errorf("no item %q: %w", keys, errors.New("the table is locked"))
}

func (tellingKV) Add(_ context.Context, key string, _ int64, _ time.Duration) (int64, error) {
	return 0, fmt.Errorf("no item %q", key)
}

// Whatever a KV says in its errors, no key reaches the log, Health, or those who call Allow.
func TestStoreErrorsShowNoKey(t *testing.T) {
	store, err := kvstore.New(tellingKV{}, kvstore.Config{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	user := httplimit.KeyFunc(func(r *http.Request) (string, error) { return r.Header.Get("X-User"), nil })
	var log bytes.Buffer
	m := mustNew(t, httplimit.Config{
		Store:  store,
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Rules: []httplimit.Rule{
			{Name: "open", Key: user, Limit: limiter.PerDay(5), Failure: httplimit.FailOpen},
			{Name: "private", Key: user, Limit: limiter.PerHour(5), Private: true, Failure: httplimit.FailClosed},
		},
	})
	r, err := http.NewRequest(http.MethodGet, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.RemoteAddr = "192.0.2.7:1"
	r.Header.Set("X-User", "alice@example.com")
	m.Check(httplimit.HTTPRequest(r)).Settle(http.StatusServiceUnavailable)
	_, allowErr := m.Allow(t.Context(), "private", "alice@example.com")

	texts := []string{log.String(), fmt.Sprintf("%v %+v %q %#v", allowErr, allowErr, allowErr, allowErr)}
	if allowErr == nil || log.Len() == 0 {
		t.Errorf("Allow: %v, log %q; want an error and a line", allowErr, &log)
	}
	health := m.Health()
	if len(health) != 2 {
		t.Errorf("Health: %+v, want both rules", health)
	}
	for _, h := range health {
		for err := h.Err; err != nil; err = errors.Unwrap(err) {
			texts = append(texts, fmt.Sprintf("%v %+v %q %#v", err, err, err, err))
		}
	}
	for _, text := range texts {
		if strings.Contains(strings.ToLower(text), "alice") {
			t.Errorf("the key is shown: %s", text)
		}
	}
}
