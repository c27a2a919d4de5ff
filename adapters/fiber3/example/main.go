// Example limits a Fiber service twice: every client by its address, and behind the authentication every user by name.
package main

import (
	"context"
	"crypto/subtle"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/basicauth"
	"github.com/gofiber/fiber/v3/middleware/recover"
	"github.com/httplimit/httplimit"
	fiber3limit "github.com/httplimit/httplimit/adapters/fiber3"
	"github.com/httplimit/httplimit/limiter"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	flag.Parse()
	if err := run(*addr); err != nil {
		log.Fatal(err)
	}
}

func run(addr string) error {
	app, err := newApp()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() { _ = app.Shutdown() })
	fmt.Printf("20 requests per 10 s and client, 3 orders per 10 s and user. Try it:\n\n"+
		"\tfor i in 1 2 3 4; do curl -si -u alice:secret http://%s/orders; done\n\n", addr)
	return app.Listen(addr, fiber.ListenConfig{DisableStartupMessage: true})
}

func newApp() (*fiber.App, error) {
	clients, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "client", Key: httplimit.ClientIP(), Limit: limiter.Per(20, 10*time.Second)},
	}})
	if err != nil {
		return nil, err
	}
	users, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "user", Key: httplimit.KeyFunc(user), Limit: limiter.Per(3, 10*time.Second)},
	}})
	if err != nil {
		return nil, err
	}
	app := fiber.New(fiber.Config{ReadTimeout: 5 * time.Second})
	app.Use(recover.New(), fiber3limit.New(clients))
	app.Get("/health", func(c fiber.Ctx) error { return c.SendString("ok\n") })

	accounts := basicauth.Config{Authorizer: authenticate}
	private := app.Group("/", basicauth.New(accounts), fiber3limit.New(users))
	private.Get("/orders", func(c fiber.Ctx) error {
		return c.SendString(fmt.Sprintf("no orders yet, %s\n", basicauth.UsernameFromContext(c)))
	})
	return app, nil
}

func authenticate(name, password string, _ fiber.Ctx) bool {
	known := name == "alice" || name == "bob"
	return known && subtle.ConstantTimeCompare([]byte(password), []byte("secret")) == 1
}

// user is whom basicauth has let in.
func user(r *http.Request) (string, error) {
	c, ok := fiber3limit.From(r)
	if !ok {
		return "", httplimit.ErrNoKey
	}
	name := basicauth.UsernameFromContext(c)
	if name == "" {
		return "", httplimit.ErrNoKey
	}
	return name, nil
}
