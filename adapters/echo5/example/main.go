// Example limits an Echo service twice: every client by its address, and behind the authentication every user by name.
package main

import (
	"context"
	"crypto/subtle"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/httplimit/httplimit"
	echo5limit "github.com/httplimit/httplimit/adapters/echo5"
	"github.com/httplimit/httplimit/limiter"
	"github.com/labstack/echo/v5"
	"github.com/labstack/echo/v5/middleware"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	flag.Parse()
	if err := run(*addr); err != nil {
		log.Fatal(err)
	}
}

func run(addr string) error {
	e, err := newEcho()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: e, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Printf("20 requests per 10 s and client, 3 orders per 10 s and user. Try it:\n\n"+
		"\tfor i in 1 2 3 4; do curl -si -u alice:secret http://%s/orders; done\n\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func newEcho() (*echo.Echo, error) {
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
	e := echo.New()
	e.Use(middleware.Recover(), echo5limit.New(clients))
	e.GET("/health", func(c *echo.Context) error { return c.String(http.StatusOK, "ok\n") })

	private := e.Group("", middleware.BasicAuth(authenticate), echo5limit.New(users))
	private.GET("/orders", func(c *echo.Context) error {
		return c.String(http.StatusOK, fmt.Sprintf("no orders yet, %s\n", c.Get("user")))
	})
	return e, nil
}

func authenticate(c *echo.Context, name, password string) (bool, error) {
	known := (name == "alice" || name == "bob") && subtle.ConstantTimeCompare([]byte(password), []byte("secret")) == 1
	if known {
		c.Set("user", name)
	}
	return known, nil
}

// user is whom authenticate has let in.
func user(r *http.Request) (string, error) {
	c, ok := echo5limit.From(r)
	if !ok {
		return "", httplimit.ErrNoKey
	}
	name, ok := c.Get("user").(string)
	if !ok {
		return "", httplimit.ErrNoKey
	}
	return name, nil
}
