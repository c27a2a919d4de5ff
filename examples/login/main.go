// Login limits guesses at passwords: five failures in 15 minutes for each pair of address and user name, 30 attempts
// of any kind a minute for each address. Who is refused is logged. Operators can see and clear failures on a second
// address.
//
// The way of a request is in login.go, the log in refusals.go, the way of operators in operators.go; accounts.go stands
// for a user database.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	operators := flag.String("operators", "127.0.0.1:8081", "address for operators: nobody else may reach it")
	flag.Parse()
	if err := run(*addr, *operators); err != nil {
		log.Fatal(err)
	}
}

const usage = `5 failed logins per 15 minutes, address and user. Try it:

	for i in 1 2 3 4 5 6; do curl -si http://%[1]s/login -d user=ann -d password=guess; done
	curl -s http://%[2]s/logins/127.0.0.1/ann
	curl -s -X DELETE http://%[2]s/logins/127.0.0.1/ann
	curl -si http://%[1]s/login --json '{"user":"ann","password":"correct horse"}'

`

func run(addr, operators string) error {
	users, err := newAccounts(pbkdf2Rounds, map[string]string{"ann": "correct horse"})
	if err != nil {
		return err
	}
	s, err := newService(users.check, slog.Default())
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	public, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	private, err := net.Listen("tcp", operators)
	if err != nil {
		return errors.Join(err, public.Close())
	}
	fmt.Printf(usage, public.Addr(), private.Addr())
	ended := make(chan error, 2)
	go func() { ended <- serve(ctx, public, s.public()) }()
	go func() { ended <- serve(ctx, private, s.operators()) }()
	err = <-ended
	stop() // one without the other is of no use
	return errors.Join(err, <-ended)
}

// serve answers until ctx ends.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
