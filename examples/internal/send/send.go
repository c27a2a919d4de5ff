// Package send sends the requests of the examples' tests.
package send

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// To passes a request to a handler and returns the answer.
func To(handler http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// Text reads the body of an answer that came over the network, and closes it.
func Text(t testing.TB, answer *http.Response) string {
	t.Helper()
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
