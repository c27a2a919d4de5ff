package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2/utils"
)

// What docs/algorithms.md says of the algorithms, in small.
func TestTraffic(t *testing.T) {
	utils.StartTimeStampUpdater()
	exact := map[string]bool{"StrictWindow": true, "SlidingLog": true}
	for _, s := range scenarios(4) {
		if strings.Contains(s.name, "clients") || strings.Contains(s.name, "the same") {
			s.requests = s.requests[:20_000]
		}
		for _, r := range table(t, s, limit, window) {
			if r.requests != len(s.requests) {
				t.Errorf("%s, %s: %d requests decided, want %d", s.name, r.name, r.requests, len(s.requests))
			}
			if exact[r.name] && (r.over > 0 || r.most > limit) {
				t.Errorf("%s, %s: %d requests admitted above the limit, %d in one window, want none and at most %d", s.name,
					r.name, r.over, r.most, limit)
			}
			if r.name == "SlidingLog" && r.refused > 0 {
				t.Errorf("%s, %s: %d requests refused below the limit, want none", s.name, r.name, r.refused)
			}
			if r.most > 2*limit {
				t.Errorf("%s, %s: %d requests admitted in one window of %d", s.name, r.name, r.most, limit)
			}
		}
	}
}

// The adversary is one: it finds nearly twice the limit where that can be had, and nothing where it cannot.
func TestAdversary(t *testing.T) {
	utils.StartTimeStampUpdater()
	want := map[string][2]int{
		"FixedWindow": {200, 200}, "SlidingWindow": {190, 200}, "StrictWindow": {100, 100}, "TokenBucket": {190, 200},
		"SlidingLog": {100, 100}, "httprate, sliding": {190, 200}, "Fiber, sliding": {150, 200},
	}
	for _, subject := range moved() {
		inside := subject.outside(limit, window)
		bubble(t, func() {
			if got := search(inside(), 5); got < want[subject.name][0] || got > want[subject.name][1] {
				t.Errorf("%s: %d of %d in one window, want %d to %d", subject.name, got, limit, want[subject.name][0],
					want[subject.name][1])
			}
		})
	}
}

func TestSlept(t *testing.T) {
	got := slept(goLimiterFixed, steady(2*window, 0.5), limit, window, 600)
	if got.requests != 100 || got.admitted != 100 {
		t.Errorf("100 requests at half of the limit: %+v, want all of them admitted", got)
	}
}

// The pictures in docs are those that this program draws.
func TestPictures(t *testing.T) {
	folder := t.TempDir()
	if err := draw(t, folder); err != nil {
		t.Fatal(err)
	}
	drawings, err := filepath.Glob(filepath.Join(folder, "*.svg"))
	if err != nil || len(drawings) != 2 {
		t.Fatalf("drawn: %v, %v, want two pictures", drawings, err)
	}
	for _, drawing := range drawings {
		got, err := os.ReadFile(drawing)
		if err != nil {
			t.Fatal(err)
		}
		committed, err := os.ReadFile(filepath.Join("..", "..", "docs", filepath.Base(drawing)))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(committed) {
			t.Errorf("docs/%s is not what is drawn: go run ./accuracy -pictures ../docs", filepath.Base(drawing))
		}
	}
}

func TestReadLog(t *testing.T) {
	const text = `192.0.2.7 - - [22/Nov/2026:10:00:01 +0000] "GET / HTTP/1.1" 200 612 "-" "curl/8"
192.0.2.8 - frank [22/Nov/2026:12:00:00 +0200] "GET /a[1] HTTP/1.1" 200 612 "-" "curl/8"
no log line
192.0.2.9 - - [yesterday] "GET / HTTP/1.1" 200 612 "-" "curl/8"
192.0.2.7 - - [22/Nov/2026:10:00:01 +0000] "GET / HTTP/1.1" 200 612 "-" "curl/8"
`
	got, bad, err := readLog(strings.NewReader(text))
	want := []request{
		{10 * time.Hour, "192.0.2.8"}, {10*time.Hour + time.Second, "192.0.2.7"}, {10*time.Hour + time.Second, "192.0.2.7"},
	}
	if err != nil || bad != 2 || len(got) != len(want) {
		t.Fatalf("read %v, %d bad lines, %v, want %v, 2, nil", got, bad, err, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("request %d: %v, want %v", i, got[i], want[i])
		}
	}
}
