package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/limiter/redisstore"
)

func TestInstancesShareOneLimit(t *testing.T) {
	server := miniredis.RunT(t)
	server.SetTime(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)) // no window boundary in between
	var instances []http.Handler
	for _, name := range []string{"first", "second"} {
		client := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
		t.Cleanup(func() { client.Close() })
		patient := redisstore.Config{Prefix: "example:", Timeout: 10 * time.Second} // no slow machine exceeds it
		handler, err := limited(client, patient, name)
		if err != nil {
			t.Fatal(err)
		}
		instances = append(instances, handler)
	}
	let := 0
	for i := range 16 {
		answer := httptest.NewRecorder()
		instances[i%2].ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
		switch answer.Code {
		case http.StatusOK:
			let++
		case http.StatusTooManyRequests:
		default:
			t.Errorf("status %d", answer.Code)
		}
	}
	if let != 10 {
		t.Errorf("two instances let in %d requests, want 10", let)
	}
}
