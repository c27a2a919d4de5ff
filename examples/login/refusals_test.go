package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
)

// TestRefusalsAreLogged with the address of the client and the rules, Private or not, and nothing that it typed.
func TestRefusalsAreLogged(t *testing.T) {
	tests := map[string]struct {
		address  string
		user     func(attempt int) string
		attempts int
		want     string
	}{
		"none": {"192.0.2.7:1", always("ann"), 5, ""},
		"the Private rule": {"192.0.2.7:1", always("hunter2"), 6,
			"level=WARN msg=refused client=192.0.2.7 rules=[login] status=429\n"},
		"an IPv6 address, not only its /64": {"[2001:db8::7]:1", always("ann"), 6,
			"level=WARN msg=refused client=2001:db8::7 rules=[login] status=429\n"},
		"the rule for addresses": {"192.0.2.7:1", func(attempt int) string { return fmt.Sprint("user", attempt) }, 31,
			"level=WARN msg=refused client=192.0.2.7 rules=[address] status=429\n"},
		"a client without an address": {"@", always("ann"), 6,
			"level=WARN msg=refused client=\"\" rules=[login] status=429\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				never := func(context.Context, string, string) (bool, error) { return false, nil }
				s, err := newService(never, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: timeless})))
				if err != nil {
					t.Fatal(err)
				}
				for i := range tt.attempts {
					post(s, tt.address, tt.user(i), "wrong")
				}
				if got := log.String(); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			})
		})
	}
}

func always(user string) func(int) string { return func(int) string { return user } }

// timeless leaves the time out.
func timeless(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
