package console

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// The time-outs of a server are for requests that end: a stream goes on beyond them.
func TestStreamOutlivesTheServersTimeouts(t *testing.T) {
	s := newSite(t, byAddress("address", limiter.PerDay(3)))
	server := httptest.NewUnstartedServer(s)
	server.Config.ReadTimeout, server.Config.WriteTimeout = 300*time.Millisecond, 300*time.Millisecond
	server.Start()
	defer server.Close()
	defer s.Close()
	answer, err := http.Get(server.URL + "/events?view=overview")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	ticks := 0
	for lines := bufio.NewScanner(answer.Body); ticks < 4 && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data: ") {
			ticks++
		}
	}
	if ticks < 4 {
		t.Errorf("got %d ticks before the stream ended, want it to go on", ticks)
	}
}
