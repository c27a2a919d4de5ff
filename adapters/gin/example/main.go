// Example limits a Gin service twice: every client by its address, and behind the authentication every user by name.
package main

import (
	"context"
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

	"github.com/gin-gonic/gin"
	"github.com/httplimit/httplimit"
	ginlimit "github.com/httplimit/httplimit/adapters/gin"
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
	engine, err := newEngine()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: engine, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Printf("20 requests per 10 s and client, 3 orders per 10 s and user. Try it:\n\n"+
		"\tfor i in 1 2 3 4; do curl -si -u alice:secret http://%s/orders; done\n\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func newEngine() (*gin.Engine, error) {
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
	engine := gin.New()
	engine.Use(gin.Recovery(), ginlimit.New(clients))
	engine.GET("/health", func(c *gin.Context) { c.String(http.StatusOK, "ok\n") })

	private := engine.Group("/", gin.BasicAuth(gin.Accounts{"alice": "secret", "bob": "secret"}), ginlimit.New(users))
	private.GET(
		"/orders",
		func(c *gin.Context) { c.String(http.StatusOK, "no orders yet, %s\n", c.GetString(gin.AuthUserKey)) },
	)
	return engine, nil
}

// user is whom gin.BasicAuth has let in.
func user(r *http.Request) (string, error) {
	c, ok := ginlimit.From(r)
	if !ok || c.GetString(gin.AuthUserKey) == "" {
		return "", httplimit.ErrNoKey
	}
	return c.GetString(gin.AuthUserKey), nil
}
