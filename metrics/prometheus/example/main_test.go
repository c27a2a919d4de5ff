package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestExample(t *testing.T) {
	service, page, err := handlers()
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	service.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Body.String() != "hello\n" {
		t.Errorf("got %q, want hello", w.Body)
	}
	w = httptest.NewRecorder()
	page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`httplimit_requests_total{outcome="passed"} 1`,
		`httplimit_decisions_total{namespace="",result="allowed",rule="stricter",source="store"} 1`,
		`httplimit_store_entries{store="visits"} 3`,
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s in\n%s", want, w.Body)
		}
	}
}
