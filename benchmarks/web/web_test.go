package web_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/httplimit/httplimit/benchmarks/web"
	"github.com/httplimit/httplimit/benchmarks/workload"
)

// plenty is a limit that no benchmark reaches, with the eight digits of its remaining requests.
const plenty = 16_000_000

// BenchmarkWeb serves requests of 1,024 clients, one after the other. The limiters are in the inner loop, so that those
// that are compared are measured within seconds; limiter=none is the bare handler of the framework, whose time is to be
// subtracted.
func BenchmarkWeb(b *testing.B) {
	subjects := web.Subjects()
	for len(subjects) > 0 {
		framework := subjects[0].Framework
		n := 0
		for n < len(subjects) && subjects[n].Framework == framework {
			n++
		}
		for _, key := range web.Keys() {
			name := "framework=" + framework + "/key=" + string(key)
			b.Run(name+"/answer=allowed", func(b *testing.B) { compare(b, subjects[:n], key, plenty, http.StatusOK) })
			b.Run(name+"/answer=refused", func(b *testing.B) { compare(b, subjects[:n], key, 1, http.StatusTooManyRequests) })
		}
		subjects = subjects[n:]
	}
}

func compare(b *testing.B, subjects []web.Subject, key web.Key, limit int64, want int) {
	for _, s := range subjects {
		if !s.Runs(key) {
			continue
		}
		open := sync.OnceValues(func() (func() web.Session, error) {
			refuses := want == http.StatusTooManyRequests
			open, err := s.Open(web.Setup{Key: key, Limit: limit, Window: workload.Window, Refuses: refuses})
			if err != nil {
				return nil, err
			}
			serve := open().Serve
			for client := range web.Clients {
				serve(client) // spends the quota of a client that is to be refused
			}
			return open, nil
		})
		b.Run("limiter="+s.Name, func(b *testing.B) {
			open, err := open()
			if err != nil {
				b.Fatal(err)
			}
			if s.Name == web.Bare {
				run(b, open, http.StatusOK)
			} else {
				run(b, open, want)
			}
		})
	}
}

func run(b *testing.B, open func() web.Session, want int) {
	workload.Run(b, func() func(int) bool {
		serve := open().Serve
		return func(i int) bool { return serve(i%web.Clients) == want }
	})
}
