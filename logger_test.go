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

// TestTextsThatClientsChooseAreBounded: errors of ever new texts write 16 lines of 256 bytes each and one that says so,
// and keep no other fault out of the log.
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
	// The second has no cause: it tells that there were too many.
	if got, want := fmt.Sprint(rest), fmt.Sprint([]string{"floods: ", "floods: no cost", "other: " + whole}); got != want {
		t.Errorf("other lines:\n got %s\nwant %s", got, want)
	}
}

// TestNoClientSilencesACause: a client that invents 16 causes hides a real one for an hour, not for ever.
func TestNoClientSilencesACause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		cause := ""
		rule := ip(limiter.PerDay(1000))
		rule.LimitFunc = func(*http.Request) (limiter.Limit, error) { return limiter.Limit{}, errors.New(cause) }
		m := mustNew(t, httplimit.Config{
			Logger: slog.New(slog.NewTextHandler(&log, nil)), Rules: []httplimit.Rule{rule},
		})
		lines := func(causes ...string) (written int) {
			log.Reset()
			for _, cause = range causes {
				serve(m, "192.0.2.7:1")
			}
			return strings.Count(log.String(), "\n")
		}
		invented := make([]string, 100)
		for i := range invented {
			invented[i] = fmt.Sprintf("no plan for %q", fmt.Sprint("alice", i))
		}
		if got := lines(invented...); got != 17 || strings.Count(log.String(), "further causes are not logged") != 1 {
			t.Errorf("100 causes wrote %d lines, want 16 and one that says that others are not logged:\n%s", got, &log)
		}
		time.Sleep(time.Hour - 1)
		if got := lines("database down", invented[0]); got != 0 {
			t.Errorf("within the hour: %d lines, want none:\n%s", got, &log)
		}
		time.Sleep(time.Nanosecond)
		if got := lines("database down", "database down", invented[0]); got != 2 {
			t.Errorf("after an hour: %d lines, want one for each cause:\n%s", got, &log)
		}
	})
}

// TestReconfigureKeepsWhatWasSaid: a service that reloads its rules every minute does not repeat their warnings.
func TestReconfigureKeepsWhatWasSaid(t *testing.T) {
	var log bytes.Buffer
	rule := ip(limiter.PerDay(1000))
	rule.Cost = func(*http.Request) (int64, error) { return 0, errors.New("no cost") }
	cfg := httplimit.Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), Rules: []httplimit.Rule{rule}}
	m := mustNew(t, cfg)
	for range 10 {
		serve(m, "192.0.2.7:1")
		if err := m.Reconfigure(cfg); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Count(log.String(), "\n"); got != 1 {
		t.Errorf("10 configurations wrote %d lines, want one:\n%s", got, &log)
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
