// Example is a service that may run any number of times over one Redis. All instances share one limit: a client gets
// ten requests a minute from all of them together.
//
//	redis-server --save '' &
//	go run ./example -listen 127.0.0.1:8081 &
//	go run ./example -listen 127.0.0.1:8082 &
//	for i in $(seq 8); do curl -i 127.0.0.1:8081; curl -i 127.0.0.1:8082; done
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8081", "address of this instance")
	server := flag.String("redis", "127.0.0.1:6379", "address of Redis")
	flag.Parse()

	client := redis.NewClient(&redis.Options{Addr: *server, ContextTimeoutEnabled: true})
	handler, err := limited(client, redisstore.Config{Prefix: "example:"}, *listen)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe(*listen, handler))
}

// limited is the service of one instance. It starts while Redis is down: until that is back, each instance counts for
// itself, with its share of the limit.
func limited(client redis.UniversalClient, cfg redisstore.Config, instance string) (http.Handler, error) {
	store, err := redisstore.New(client, cfg)
	if err != nil {
		return nil, err
	}
	limit, err := httplimit.New(httplimit.Config{
		Store:     store,
		Instances: 2,
		Rules: []httplimit.Rule{{
			Name:  "client",
			Key:   httplimit.ClientIP(),
			Limit: limiter.PerMinute(10),
		}},
	})
	if err != nil {
		return nil, err
	}
	return limit.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "hello from", instance)
	})), nil
}
