package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/httplimit/httplimit/examples/internal/send"
)

func get(t *testing.T, url, forwarded string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Forwarded-For", forwarded)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, send.Text(t, answer)
}

func TestSpoofedHeaderChangesNothing(t *testing.T) {
	handler, err := newService()
	if err != nil {
		t.Fatal(err)
	}
	service := httptest.NewServer(handler)
	defer service.Close()
	proxy := httptest.NewServer(newProxy(service.Listener.Addr().String()))
	defer proxy.Close()

	for i := range 5 {
		spoofed := fmt.Sprint("203.0.113.", i)
		status, text := get(t, proxy.URL, spoofed)
		if status != http.StatusOK || !strings.Contains(text, `["`+spoofed+`, 127.0.0.1"]`) {
			t.Errorf("request %d: got %d %s, want 200 and what the proxy made of the header", i+1, status, text)
		}
	}
	if status, _ := get(t, proxy.URL, "203.0.113.6"); status != http.StatusTooManyRequests {
		t.Errorf("the sixth request: got %d, want 429", status)
	}
}

func TestPastTheProxy(t *testing.T) {
	handler, err := newService()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = "198.51.100.7:1"
		r.Header.Set("X-Forwarded-For", fmt.Sprint("203.0.113.", i))
		w := send.To(handler, r)
		want := http.StatusOK
		if i == 5 {
			want = http.StatusTooManyRequests
		}
		if w.Code != want {
			t.Errorf("request %d of a client that is not the proxy: got %d, want %d", i+1, w.Code, want)
		}
	}
}
