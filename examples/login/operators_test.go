package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/httplimit/httplimit/examples/internal/send"
)

func operate(s *service, method, path string) *httptest.ResponseRecorder {
	return send.To(s.operators(), httptest.NewRequest(method, path, nil))
}

// standing returns what is left to a client, as operators see it.
func standing(t *testing.T, s *service, path string) (left float64, blocked bool) {
	t.Helper()
	w := operate(s, http.MethodGet, path)
	var got struct {
		Left    float64
		Blocked bool
		Limit   string
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK ||
		got.Limit != "5/15m sliding-log" {
		t.Fatalf("GET %s: got %d %s (%v), want 200 and the limit", path, w.Code, w.Body, err)
	}
	return got.Left, got.Blocked
}

func TestOperatorsPeekAndUnblock(t *testing.T) {
	tests := map[string]struct{ address, path string }{
		"IPv4":                    {"192.0.2.7:1", "/logins/192.0.2.7/ann"},
		"IPv6, by any of its /64": {"[2001:db8::7]:1", "/logins/2001:db8::9/ann"},
		"another spelling":        {"192.0.2.7:1", "/logins/192.0.2.7/ANN"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, _ := newTestService(t)
			for range 2 {
				post(s, tt.address, "ann", "wrong")
			}
			if left, blocked := standing(t, s, tt.path); left != 3 || blocked {
				t.Errorf("after two failures: got %v left, blocked %t, want 3, false", left, blocked)
			}
			for range 3 {
				post(s, tt.address, "ann", "wrong")
			}
			if left, blocked := standing(t, s, tt.path); left != 0 || !blocked {
				t.Errorf("after five failures: got %v left, blocked %t, want 0, true", left, blocked)
			}
			if got := operate(s, http.MethodDelete, tt.path).Code; got != http.StatusNoContent {
				t.Errorf("DELETE: got %d, want 204", got)
			}
			if got := post(s, tt.address, "ann", "right").Code; got != http.StatusOK {
				t.Errorf("after it: got %d, want 200", got)
			}
			if left, _ := standing(t, s, tt.path); left != 5 {
				t.Errorf("after a success: got %v left, want 5", left)
			}
		})
	}
}

func TestOperatorsAreNotPublic(t *testing.T) {
	s, _ := newTestService(t)
	w := send.To(s.public(), httptest.NewRequest(http.MethodDelete, "/logins/192.0.2.7/ann", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("got %d, want 404", w.Code)
	}
}
