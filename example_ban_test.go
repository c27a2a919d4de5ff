package httplimit_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// Whoever goes on guessing passwords is out for a day. The rule's key is the address and the name together: by the name
// alone, anybody could have its owner locked out.
func ExampleBan() {
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{{
		Name:        "login",
		Key:         httplimit.Compose(httplimit.ClientIP(), httplimit.BasicUser()),
		Limit:       limiter.PerHour(2),
		CountStatus: func(status int) bool { return status == http.StatusUnauthorized },
		Ban:         httplimit.Ban{After: 3, Within: 10 * time.Minute, For: 24 * time.Hour},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	login := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	for range 5 {
		show(login, "Authorization", "Basic YW5uOmd1ZXNz") // ann, from 192.0.2.1
	}
	v, err := m.Peek(context.Background(), "login", "192.0.2.1", "ann")
	fmt.Println("banned for", v.RetryAfter.Round(time.Hour), err)

	err = m.Reset(context.Background(), "login", "192.0.2.1", "ann")
	fmt.Println("lifted", err)
	show(login, "Authorization", "Basic YW5uOmd1ZXNz")
	// Output:
	// 401
	// 401
	// 429
	// 429
	// 429
	// banned for 24h0m0s <nil>
	// lifted <nil>
	// 401
}
