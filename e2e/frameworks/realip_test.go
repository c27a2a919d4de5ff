package frameworks_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// TestRealIPInFrontIsLogged: chi's RealIP writes what a client says into RemoteAddr, so that ClientIP believes it. The
// limiter cannot undo that, and says it once.
func TestRealIPInFrontIsLogged(t *testing.T) {
	for _, tt := range []struct {
		name   string
		layers []func(http.Handler) http.Handler
		passed int // of 20 requests, with 5 an hour
		logged int
	}{
		//lint:ignore SA1019 what it does is the subject
		{"with RealIP", []func(http.Handler) http.Handler{middleware.RealIP}, 20, 1},
		{"without", nil, 5, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log logged
			m, err := httplimit.New(httplimit.Config{Store: frozen(t), Logger: slog.New(slog.NewTextHandler(&log, nil)),
				Rules: []httplimit.Rule{byIP("ip", limiter.PerDay(5))}})
			if err != nil {
				t.Fatal(err)
			}
			router := chi.NewRouter()
			router.Use(tt.layers...)
			router.With(m.Handler).Get("/open", open)
			at := listen(t, "tcp4")
			serveHandler(t, at, router)
			client := &rawClient{t: t, at: at.Addr()}
			passed := 0
			for i := range 20 {
				if client.send("GET /open", fmt.Sprint("X-Real-IP: 192.0.2.", i)) == http.StatusOK {
					passed++
				}
			}
			if passed != tt.passed {
				t.Errorf("%d of 20 requests passed, want %d", passed, tt.passed)
			}
			if got := log.count("remote-address-rewritten"); got != tt.logged {
				t.Errorf("it was logged %d times, want %d", got, tt.logged)
			}
		})
	}
}
