package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit/examples/internal/send"
)

// newTestService knows ann, whose password is "right". An attempt with "slow" waits until the client has left.
func newTestService(t *testing.T) (s *service, waiting chan struct{}) {
	t.Helper()
	waiting = make(chan struct{}, 5)
	s, err := newService(func(ctx context.Context, user, password string) (bool, error) {
		if password == "slow" {
			waiting <- struct{}{}
			<-ctx.Done()
			return false, ctx.Err()
		}
		return user == "ann" && password == "right", nil
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s, waiting
}

// try logs in through a socket and returns the answer, whose body is then in text.
func try(t *testing.T, server *httptest.Server, user, password string) (answer *http.Response, text string) {
	t.Helper()
	answer, err := server.Client().PostForm(server.URL+"/login", url.Values{"user": {user}, "password": {password}})
	if err != nil {
		t.Fatal(err)
	}
	return answer, send.Text(t, answer)
}

func expect(t *testing.T, server *httptest.Server, user, password string, want int) {
	t.Helper()
	if got, _ := try(t, server, user, password); got.StatusCode != want {
		t.Fatalf("%q with %q: got %d, want %d", user, password, got.StatusCode, want)
	}
}

func TestFiveFailuresBlock(t *testing.T) {
	s, _ := newTestService(t)
	server := httptest.NewServer(s.public())
	defer server.Close()
	for range 4 {
		expect(t, server, "ann", "wrong", http.StatusForbidden)
	}
	expect(t, server, "ann", "right", http.StatusOK) // does not count
	expect(t, server, "ann", "wrong", http.StatusForbidden)
	for _, spelling := range []string{"ann", "ANN", " Ann "} {
		expect(t, server, spelling, "right", http.StatusTooManyRequests)
	}
	expect(t, server, "bob", "wrong", http.StatusForbidden) // another user is not blocked
}

func TestRefusalDoesNotRevealTheUser(t *testing.T) {
	s, _ := newTestService(t)
	server := httptest.NewServer(s.public())
	defer server.Close()
	answers := make(map[string]string)
	for _, user := range []string{"ann", "nobody"} {
		for range 5 {
			_, text := try(t, server, user, "wrong")
			answers[user] += text
		}
		refusal, text := try(t, server, user, "wrong")
		if refusal.StatusCode != http.StatusTooManyRequests || refusal.Header.Get("Retry-After") == "" {
			t.Fatalf("%s: got %d and fields %v, want 429 and Retry-After", user, refusal.StatusCode, refusal.Header)
		}
		answers[user] += text
		for _, field := range []string{"Ratelimit", "Ratelimit-Policy"} {
			if got := strings.Join(refusal.Header[field], ", "); !strings.HasPrefix(got, `"address";`) ||
				strings.Contains(got, loginRule) {
				t.Errorf("%s: got %s, want the limit by address alone", field, got)
			}
		}
	}
	if answers["ann"] != answers["nobody"] || strings.Contains(answers["ann"], `"`+loginRule+`"`) {
		t.Errorf("answers differ or name the rule:\n%s\n%s", answers["ann"], answers["nobody"])
	}
}

func TestHangingUpBuysNoTries(t *testing.T) {
	s, waiting := newTestService(t)
	returned := make(chan struct{}, 5)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.public().ServeHTTP(w, r)
		if r.Context().Err() != nil {
			returned <- struct{}{}
		}
	}))
	defer server.Close()
	const body = `{"user":"ann","password":"slow"}`
	for range 5 {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /login HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n"+
			"Content-Length: %d\r\n\r\n%s", len(body), body)
		<-waiting
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		<-returned
	}
	expect(t, server, "ann", "right", http.StatusTooManyRequests)
	expect(t, server, "bob", "wrong", http.StatusForbidden)
}

// post logs in without a socket.
func post(s *service, address, user, password string) *httptest.ResponseRecorder {
	form := url.Values{"user": {user}, "password": {password}}
	r := httptest.NewRequest(http.MethodPost, "/login", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.RemoteAddr = address
	return send.To(s.public(), r)
}

func TestGuessesAtOnceAreFiveAsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, waiting := newTestService(t)
		ctx, leave := context.WithCancel(t.Context())
		refused := make(chan int, 20)
		for range 20 {
			go func() {
				r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/login", strings.NewReader("user=ann&password=slow"))
				if got := send.To(s.public(), r).Code; got == http.StatusTooManyRequests {
					refused <- got
				}
			}()
		}
		synctest.Wait()
		if len(waiting) != 5 || len(refused) != 15 {
			t.Errorf("got %d passwords checked and %d requests refused, want 5 and 15", len(waiting), len(refused))
		}
		leave()
	})
}

func TestStrangersLockNoUserOut(t *testing.T) {
	s, _ := newTestService(t)
	for range 6 {
		post(s, "192.0.2.66:1", "ann", "wrong")
	}
	if got := post(s, "192.0.2.66:1", "ann", "right").Code; got != http.StatusTooManyRequests {
		t.Errorf("from the stranger's address: got %d, want 429", got)
	}
	if got := post(s, "192.0.2.7:1", "ann", "right").Code; got != http.StatusOK {
		t.Errorf("from ann's own address: got %d, want 200", got)
	}
}

func TestBlockEndsWhenRetryAfterSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newTestService(t)
		for range 5 {
			post(s, "192.0.2.7:1", "ann", "wrong")
		}
		refusal := post(s, "192.0.2.7:1", "ann", "right")
		if got, want := refusal.Header().Get("Retry-After"), "900"; got != want {
			t.Fatalf("Retry-After: got %q, want %s", got, want)
		}
		time.Sleep(15*time.Minute - time.Millisecond)
		if got := post(s, "192.0.2.7:1", "ann", "right").Code; got != http.StatusTooManyRequests {
			t.Errorf("a millisecond before: got %d, want 429", got)
		}
		time.Sleep(time.Millisecond)
		if got := post(s, "192.0.2.7:1", "ann", "right").Code; got != http.StatusOK {
			t.Errorf("then: got %d, want 200", got)
		}
	})
}

func TestAddressIsLimitedWhateverTheName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newTestService(t)
		for i := range 30 {
			if got := post(s, "192.0.2.66:1", fmt.Sprint("user", i), "wrong").Code; got != http.StatusForbidden {
				t.Fatalf("attempt %d: got %d, want 403", i+1, got)
			}
		}
		w := post(s, "192.0.2.66:1", "user30", "wrong")
		if w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), `"violated-policies":["address"]`) {
			t.Errorf("the 31st: got %d %s, want 429 by the rule address", w.Code, w.Body)
		}
	})
}

func TestBodies(t *testing.T) {
	const form, object = "application/x-www-form-urlencoded", "application/json; charset=utf-8"
	tests := map[string]struct {
		media, body string
		want        int
	}{
		"form":                 {form, "user=ann&password=right", http.StatusOK},
		"JSON":                 {object, `{"user":"ann","password":"right"}`, http.StatusOK},
		"empty":                {form, "", http.StatusBadRequest},
		"no user":              {form, "password=right", http.StatusBadRequest},
		"blank user":           {object, `{"user":" ","password":"right"}`, http.StatusBadRequest},
		"broken form":          {form, "user=%zz", http.StatusBadRequest},
		"broken JSON":          {object, `{"user":"ann"`, http.StatusBadRequest},
		"JSON of another kind": {object, `["ann"]`, http.StatusBadRequest},
		"too long":             {form, "user=ann&password=" + strings.Repeat("x", 4<<10), http.StatusBadRequest},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, _ := newTestService(t)
			r := httptest.NewRequest(http.MethodPost, "/login", strings.NewReader(tt.body))
			r.Header.Set("Content-Type", tt.media)
			w := send.To(s.public(), r)
			if w.Code != tt.want {
				t.Errorf("got %d %s, want %d", w.Code, w.Body, tt.want)
			}
		})
	}
}
