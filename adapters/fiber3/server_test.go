package fiber3limit_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/recover"
	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// spy is a store that remembers what it was asked. It keeps the very strings, which a Store must not: so a key that
// lies in a buffer of fasthttp's shows.
type spy struct {
	limiter.Store
	mu    sync.Mutex
	asked []limiter.Charge
}

func newSpy(t *testing.T) *spy {
	t.Helper()
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return &spy{Store: store}
}

func (s *spy) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	s.mu.Lock()
	s.asked = append(s.asked, charges...)
	s.mu.Unlock()
	return s.Store.Take(ctx, charges)
}

// spent is how many charges came with a positive and with a negative cost.
func (s *spy) spent() (taken, givenBack int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.asked {
		if c.Cost < 0 {
			givenBack++
		} else {
			taken++
		}
	}
	return taken, givenBack
}

func (s *spy) keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for _, c := range s.asked {
		keys = append(keys, c.Key)
	}
	return keys
}

func limit(t *testing.T, store limiter.Store, rules ...httplimit.Rule) *httplimit.Middleware {
	t.Helper()
	for i := range rules {
		if rules[i].Key == nil {
			rules[i].Key = httplimit.ClientIP()
		}
		if rules[i].Limit == (limiter.Limit{}) {
			rules[i].Limit = limiter.PerDay(100)
		}
	}
	m, err := httplimit.New(httplimit.Config{
		Rules: rules, Store: store, Expose: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func newApp(config ...fiber.Config) *fiber.App {
	config = append(config, fiber.Config{})
	app := fiber.New(config[0])
	app.Use(recover.New())
	return app
}

func serve(t *testing.T, app *fiber.App) (url string) {
	t.Helper()
	return "http://" + listen(t, app, "tcp", "127.0.0.1:0").String()
}

func listen(t *testing.T, app *fiber.App, network, address string) net.Addr {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error)
	go func() { stopped <- app.Listener(listener, fiber.ListenConfig{DisableStartupMessage: true}) }()
	t.Cleanup(func() {
		_ = app.Shutdown()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr()
}

type answer struct {
	*http.Response
	body string
}

func get(t *testing.T, url string) answer {
	t.Helper()
	return send(t, http.MethodGet, url, nil)
}

func send(t *testing.T, method, url string, header http.Header) answer {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, lines := range header {
		r.Header[name] = lines
	}
	r.Close = true                                      // so that Shutdown need not wait
	response, err := http.DefaultTransport.RoundTrip(r) // follows no redirects
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response, string(body)}
}

// raw sends text as it is, on a connection of its own, and returns all that comes back.
func raw(t *testing.T, network, address, text string) string {
	t.Helper()
	conn, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, strings.ReplaceAll(text, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	answers, _ := io.ReadAll(conn) // also until a reset, which is how a server ends that has not read everything
	return string(answers)
}

func hello(c fiber.Ctx) error { return c.SendString("hello") }
