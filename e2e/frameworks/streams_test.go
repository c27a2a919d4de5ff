package frameworks_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

func streaming() []framework {
	return slices.DeleteFunc(frameworks(), func(f framework) bool { return !f.streams })
}

func TestWebSocketIsSettledWhenItOpens(t *testing.T) {
	for name, tt := range map[string]struct {
		counts func(status int) bool
		want   []string
	}{
		"that counts": {
			func(status int) bool { return status == http.StatusSwitchingProtocols },
			[]string{"take /ws 127.0.0.1 1", "settled with 101"},
		},
		"that is refunded": {
			func(status int) bool { return status >= 400 },
			[]string{"take /ws 127.0.0.1 1", "settled with 101", "take /ws 127.0.0.1 -1"},
		},
	} {
		for _, f := range streaming() {
			t.Run(name+"/"+f.name, func(t *testing.T) {
				rule := byIP("ws", limiter.PerHour(1))
				rule.CountStatus = tt.counts
				st := scenario{around: limits(rule)}.open(t, f)
				conn, opened, err := st.dialWebSocket(t)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := opened.Header.Get("RateLimit"), `"ws";r=0;t=3601`; got != want {
					t.Errorf("RateLimit: got %s, want %s", got, want)
				}
				for _, message := range []string{"one", "two"} {
					checkSentBack(t, conn, message)
				}
				if got := st.store.noted(); !slices.Equal(got, tt.want) {
					t.Errorf("while it is open: got %q, want %q", got, tt.want)
				}
				conn.Close(websocket.StatusNormalClosure, "")
				<-st.through
				if got := st.store.noted(); got != nil {
					t.Errorf("when it has ended: got %q, want nothing more", got)
				}
			})
		}
	}
}

func TestWebSocketIsRefused(t *testing.T) {
	rule := byIP("ws", limiter.PerHour(1))
	rule.CountStatus = func(status int) bool { return status == http.StatusSwitchingProtocols }
	for _, f := range streaming() {
		t.Run(f.name, func(t *testing.T) {
			st := scenario{around: limits(rule)}.open(t, f)
			first, _, err := st.dialWebSocket(t)
			if err != nil {
				t.Fatal(err)
			}
			_, refused, err := st.dialWebSocket(t)
			if err == nil || refused == nil || refused.StatusCode != http.StatusTooManyRequests ||
				refused.Header.Get("Retry-After") != "3601" {
				t.Errorf("a second one: got %+v, %v, want 429 with Retry-After", refused, err)
			}
			checkSentBack(t, first, "still open")
		})
	}
}

func (s *stage) dialWebSocket(t *testing.T) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	conn, answer, err := websocket.Dial(t.Context(), host+"/ws", &websocket.DialOptions{HTTPClient: s.client})
	if err == nil {
		t.Cleanup(func() { conn.CloseNow() })
	}
	return conn, answer, err
}

func checkSentBack(t *testing.T, conn *websocket.Conn, message string) {
	t.Helper()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
		t.Fatal(err)
	}
	if _, got, err := conn.Read(t.Context()); err != nil || string(got) != message {
		t.Fatalf("got %q, %v, want %q", got, err, message)
	}
}

// events is a stream that costs two tokens an event.
func events() scenario {
	tokens := byIP("tokens", limiter.PerHour(10))
	tokens.CountStatus = func(status int) bool { return status == http.StatusOK }
	return scenario{
		name:   "events",
		around: []httplimit.Config{{Expose: true, Rules: []httplimit.Rule{tokens}}},
		script: `
			take /tokens 127.0.0.1 1
			force /tokens 127.0.0.1 2
			force /tokens 127.0.0.1 2
			settled with 200`,
	}
}

func TestEventsArriveWhileTheHandlerRuns(t *testing.T) {
	for _, f := range streaming() {
		t.Run(f.name, func(t *testing.T) {
			next := make(chan string)
			s := events()
			s.events = func(ctx context.Context, send func(string)) {
				for event := range next {
					if err := httplimit.Spend(ctx, "tokens", 2); err != nil {
						t.Error(err)
					}
					send(event)
				}
			}
			st := s.open(t, f)
			go func() { // no client hears of the answer before the first event
				if f.streamsLate {
					<-st.through
				}
				next <- "data: one\n\n"
			}()
			answer, err := st.client.Get(host + "/events")
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			if got, want := answer.Header.Get("RateLimit"), `"tokens";r=9;t=3601`; got != want {
				t.Errorf("RateLimit: got %s, want %s", got, want)
			}
			checkNext(t, answer.Body, "data: one\n\n")
			next <- "data: two\n\n"
			checkNext(t, answer.Body, "data: two\n\n")
			close(next)
			if rest, err := io.ReadAll(answer.Body); err != nil || len(rest) > 0 {
				t.Errorf("after the last event: got %q, %v, want the end", rest, err)
			}
			if !f.streamsLate {
				<-st.through
			}
			want := excepted(t, f, s.name, trimmed(s.script))
			if got := st.store.noted(); !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// checkNext reads one event while the handler waits for the next one.
func checkNext(t *testing.T, stream io.Reader, event string) {
	t.Helper()
	got := make([]byte, len(event))
	if _, err := io.ReadFull(stream, got); err != nil || string(got) != event {
		t.Fatalf("got %q, %v, want %q", got, err, event)
	}
}

// A handler's context may outlive its request: what is spent then is still the same client's, though the framework has
// read another request into the same memory.
func TestSpendAfterTheRequest(t *testing.T) {
	for _, f := range frameworks() {
		t.Run(f.name, func(t *testing.T) {
			kept := make(chan context.Context, 2)
			rule := httplimit.Rule{Name: "tokens", Limit: limiter.PerHour(10), Key: httplimit.Header("X-Client")}
			st := scenario{
				around: []httplimit.Config{{Expose: true, Rules: []httplimit.Rule{rule}}},
				item:   func(ctx context.Context, _ string) reply { kept <- ctx; return reply{status: http.StatusOK} },
			}.open(t, f)
			for _, client := range []string{"the-first-one", "another-one!!"} {
				st.play(t, []string{"GET /items/7", "> X-Client: " + client})
			}
			ctx := <-kept
			for _, n := range []int64{3, -2, -5, -5} {
				if err := httplimit.Spend(ctx, "tokens", n); err != nil {
					t.Fatal(err)
				}
			}
			want := []string{
				"force /tokens the-first-one 3",
				"take /tokens the-first-one -2",
				"take /tokens the-first-one -1, take /tokens the-first-one -1", // what is left of the 3, and the request
			}
			if got := st.store.noted(); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// A request pays first for the most that it may cost. What its handler gives back, Settle does not give back again.
func TestSpendGivesBackBeforeTheRequestSettles(t *testing.T) {
	for _, f := range frameworks() {
		t.Run(f.name, func(t *testing.T) {
			rule := byIP("tokens", limiter.PerHour(10))
			rule.Cost = func(*http.Request) (int64, error) { return 8, nil }
			rule.CountStatus = func(status int) bool { return status == http.StatusOK }
			kept := make(chan context.Context, 1)
			st := scenario{
				around: []httplimit.Config{{Expose: true, Rules: []httplimit.Rule{rule}}},
				item: func(ctx context.Context, _ string) reply {
					if err := httplimit.Spend(ctx, "tokens", -5); err != nil {
						t.Error(err)
					}
					kept <- ctx
					return reply{status: http.StatusServiceUnavailable}
				},
			}.open(t, f)
			got := st.play(t, []string{"GET /items/7"})
			if err := httplimit.Spend(<-kept, "tokens", -5); err != nil {
				t.Fatal(err)
			}
			want := []string{
				"take /tokens 127.0.0.1 8", "take /tokens 127.0.0.1 -5", "settled with 503", "take /tokens 127.0.0.1 -3",
			}
			if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
				t.Errorf("got %q, want %q first", got, want)
			}
			if rest := st.store.noted(); len(rest) > 0 {
				t.Errorf("after it has settled: got %q, want nothing more", rest)
			}
		})
	}
}
