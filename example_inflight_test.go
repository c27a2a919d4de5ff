package httplimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// A client may have two exports under way. None takes longer than an hour, so a process that dies in the middle of one
// keeps its place for a little over an hour at most.
func ExampleRule_inFlight() {
	m := httplimit.Must(httplimit.New(httplimit.Config{Rules: []httplimit.Rule{{
		Name: "exports", Key: httplimit.ClientIP(), Limit: limiter.Per(2, time.Hour), InFlight: true,
	}}}))
	began, end := make(chan bool), make(chan bool)
	export := m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		began <- true
		<-end
	}))
	ask := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		export.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/export", nil))
		return w
	}
	done := make(chan *httptest.ResponseRecorder)
	for range 2 {
		go func() { done <- ask() }()
		<-began
	}
	refused := ask()
	fmt.Println(refused.Code, "retry after", refused.Header().Get("Retry-After"))
	fmt.Println(refused.Header().Get("RateLimit-Policy"))

	end <- true // one of the two is ready
	fmt.Println((<-done).Code)
	go func() { done <- ask() }()
	<-began
	fmt.Println("the next one is under way")
	close(end)
	fmt.Println((<-done).Code, (<-done).Code)
	// Output:
	// 429 retry after 1
	// "exports";q=2;qu="concurrent-requests"
	// 200
	// the next one is under way
	// 200 200
}
