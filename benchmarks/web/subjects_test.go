package web_test

import (
	"net/http"
	"testing"

	"github.com/httplimit/httplimit/benchmarks/web"
	"github.com/httplimit/httplimit/benchmarks/workload"
)

// TestSubjects shows that what is compared does the same: 200 for as many requests of each client as its limit, then
// 429.
func TestSubjects(t *testing.T) {
	for _, s := range web.Subjects() {
		for _, key := range web.Keys() {
			if s.Name == web.Bare || !s.Runs(key) {
				continue
			}
			t.Run("framework="+s.Framework+"/key="+string(key)+"/limiter="+s.Name, func(t *testing.T) {
				const limit = 5
				open, err := s.Open(web.Setup{Key: key, Limit: limit, Window: workload.Window})
				if err != nil {
					t.Fatal(err)
				}
				serve := open().Serve
				for client := range web.Clients {
					for i := range limit + 2 {
						want := http.StatusOK
						if i >= limit {
							want = http.StatusTooManyRequests
						}
						if got := serve(client); got != want {
							t.Fatalf("request %d of client %d: got %d, want %d", i, client, got, want)
						}
					}
				}
			})
		}
	}
}
