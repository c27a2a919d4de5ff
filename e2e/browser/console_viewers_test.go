package browser_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/httplimit/httplimit/e2e/browser"
	"github.com/httplimit/httplimit/e2e/servers"
)

// viewer is a stream of a page.
type viewer struct {
	status int
	body   io.ReadCloser
	lines  *bufio.Scanner
}

func watch(client *http.Client, url string) (*viewer, error) {
	answer, err := client.Get(url + "events?view=overview")
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	return &viewer{answer.StatusCode, answer.Body, lines}, nil
}

// hears reports whether a line comes that begins so.
func (v *viewer) hears(begin string) bool {
	for v.lines.Scan() {
		if strings.HasPrefix(v.lines.Text(), begin) {
			return true
		}
	}
	return false
}

func TestConsoleHasRoomForSixteen(t *testing.T) {
	s := startService(t)
	client := &http.Client{Timeout: 2 * patience, Transport: &http.Transport{MaxConnsPerHost: 500}}
	t.Cleanup(client.CloseIdleConnections)
	var viewers []*viewer
	for range 16 {
		v, err := watch(client, s.url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = v.body.Close() })
		if !v.hears("data: {\"time\"") {
			t.Fatalf("viewer %d is sent nothing: status %d", len(viewers), v.status)
		}
		viewers = append(viewers, v)
	}
	p := browser.Start(t).Open(t, s.url, browser.Look{})
	shows(t, p, "#live-text", "too many are looking (16)")
	none(t, "fault", p.Faults())
	p.Close()

	s.crowd(t, client, 10_000)
	for i, v := range viewers {
		if !v.hears("data: {\"time\"") {
			t.Errorf("viewer %d is sent nothing any more", i)
		}
	}
	if got := s.request(t, "alice", "/"); got != http.StatusOK {
		t.Errorf("the service answers %d, want 200", got)
	}
	_ = viewers[0].body.Close()
	servers.Await(t, "the place of one that left is free", func() bool {
		v, err := watch(client, s.url)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = v.body.Close() }()
		return v.status == http.StatusOK && v.hears("") && v.hears("data: {\"time\"")
	})
}

// crowd has n more viewers come, 400 at once; they are all told that there is no room.
func (s *service) crowd(t *testing.T, client *http.Client, n int) {
	t.Helper()
	var all sync.WaitGroup
	var left, full, often, wrong atomic.Int64
	left.Store(int64(n))
	for range 400 {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				v, err := watch(client, s.url)
				switch {
				case err != nil:
					wrong.Add(1)
					continue
				case v.status == http.StatusTooManyRequests:
					often.Add(1)
				case v.status == http.StatusOK && v.hears("event: full"):
					full.Add(1)
				default:
					wrong.Add(1)
				}
				_, _ = io.Copy(io.Discard, v.body)
				_ = v.body.Close()
			}
		})
	}
	all.Wait()
	if wrong.Load() != 0 || full.Load()+often.Load() != int64(n) {
		t.Errorf("of %d, %d were told that there is no room, %d that they ask too often, %d something else",
			n, full.Load(), often.Load(), wrong.Load())
	}
	t.Logf("of %d, %d were told that there is no room, %d that they ask too often", n, full.Load(), often.Load())
}
