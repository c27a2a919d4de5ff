package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestExample(t *testing.T) {
	handler, err := newHandler()
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) string {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Body.String()
	}
	if got := get("/"); got != "hello\n" {
		t.Errorf("got %q, want hello", got)
	}
	page := get("/collected")
	for _, want := range []string{
		"httplimit.requests 1 {request} httplimit.outcome=passed\n",
		"the span of the last request: httplimit.result=allowed,httplimit.rule.name=client,httplimit.source=store\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
}
