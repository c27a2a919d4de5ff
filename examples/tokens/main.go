// Tokens limits the output of a language model: 100 tokens a minute for each client. The cost of an answer is not known
// beforehand, so it is spent while the answer streams (/complete), or the most that it may cost is paid first and the
// rest given back (/prepaid). When which is the better way stands in complete.go.
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
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	flag.Parse()
	if err := run(*addr); err != nil {
		log.Fatal(err)
	}
}

const usage = `100 tokens a minute. Try it, a few times:

	curl -sNi 'http://%[1]s/complete?prompt=why+is+the+sky+blue'
	curl -sNi 'http://%[1]s/prepaid?prompt=why+is+the+sky+blue&max_tokens=20'

`

func run(addr string) error {
	handler, err := newHandler(parrot{times: 12, pace: 50 * time.Millisecond}.answer)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Printf(usage, listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
