package httplimit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// TestTextsThatClientsChooseAreBounded: errors of ever new texts write 16 lines of 256 bytes each, and keep no other
// fault out of the log.
func TestTextsThatClientsChooseAreBounded(t *testing.T) {
	whole := strings.Repeat("y", 256)
	request := 0
	late := func(text string) error { // when the first topic is full already
		if request > 50 {
			return errors.New(text)
		}
		return nil
	}
	floods := httplimit.KeyFunc(func(*http.Request) (string, error) {
		return "", fmt.Errorf("%03d%s", request, strings.Repeat("x", 1000))
	})
	other := httplimit.KeyFunc(func(*http.Request) (string, error) { return "key", late(whole) })
	cost := func(*http.Request) (int64, error) { return 0, late("no cost") }
	var log bytes.Buffer
	m := mustNew(t, httplimit.Config{Logger: slog.New(slog.NewJSONHandler(&log, nil)), Rules: []httplimit.Rule{
		{Name: "floods", Key: floods, Limit: limiter.PerDay(1000), Cost: cost},
		{Name: "other", Key: other, Limit: limiter.PerDay(1000)},
	}})
	for request = range 100 {
		serve(m, "192.0.2.7:1")
	}

	var clipped, rest []string
	for decoder := json.NewDecoder(&log); decoder.More(); {
		var line struct{ Rule, Cause string }
		if err := decoder.Decode(&line); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(line.Cause, "x...") {
			clipped = append(clipped, line.Cause)
		} else {
			rest = append(rest, line.Rule+": "+line.Cause)
		}
	}
	for i, got := range clipped {
		if want := fmt.Sprintf("%03d%s...", i, strings.Repeat("x", 253)); got != want {
			t.Errorf("line %d: got %d bytes, %q, want the first 256 and three dots", i+1, len(got), got)
		}
	}
	if len(clipped) != 16 {
		t.Errorf("100 texts wrote %d lines, want 16", len(clipped))
	}
	if got, want := fmt.Sprint(rest), fmt.Sprint([]string{"floods: no cost", "other: " + whole}); got != want {
		t.Errorf("other lines:\n got %s\nwant %s", got, want)
	}
}

func TestReconfigureKeepsTheCountOfAShadowRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		cfg := httplimit.Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), Rules: []httplimit.Rule{
			{Name: "shadow", Key: httplimit.ClientIP(), Limit: limiter.PerDay(1), Shadow: true},
		}}
		m := mustNew(t, cfg)
		serve(m, "192.0.2.7:1")
		for range 100 {
			if err := m.Reconfigure(cfg); err != nil {
				t.Fatal(err)
			}
			serve(m, "192.0.2.7:1")
		}
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "rule=shadow requests=1\n") {
			t.Errorf("after 100 would-be refusals: log %q, want one line about the first", got)
		}
		time.Sleep(time.Minute)
		serve(m, "192.0.2.7:1")
		if got := log.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "rule=shadow requests=100\n") {
			t.Errorf("a minute later: log %q, want a second line about the 100 since", got)
		}
	})
}
