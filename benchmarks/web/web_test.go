package web_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/httplimit/httplimit/benchmarks/web"
	"github.com/httplimit/httplimit/benchmarks/workload"
)

// plenty is a limit that no benchmark reaches, with the eight digits of its remaining requests.
const plenty = 16_000_000

// BenchmarkWeb serves requests of 1,024 clients in turn. It has the limiters in the inner loop, so that what is compared
// is measured within seconds; limiter=none is the bare handler of the framework, whose time is to be taken off.
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
		open := sync.OnceValues(func() (func() web.Serve, error) {
			open, err := s.Open(web.Setup{Key: key, Limit: limit, Window: workload.Window})
			if err != nil {
				return nil, err
			}
			serve := open()
			for client := range web.Clients {
				serve(client) // spends what a client of the refused has
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

func run(b *testing.B, open func() web.Serve, want int) {
	var goroutines, wrong atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		serve, bad := open(), int64(0)
		for client := int(goroutines.Add(1)) * (web.Clients / 3); pb.Next(); client++ {
			if serve(client%web.Clients) != want {
				bad++
			}
		}
		wrong.Add(bad)
	})
	if n := wrong.Load(); n > 0 {
		b.Errorf("%d of %d answers were not %d", n, b.N, want)
	}
}
