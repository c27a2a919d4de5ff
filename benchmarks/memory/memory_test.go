package memory_test

import (
	"sync"
	"testing"

	"github.com/httplimit/httplimit/benchmarks/memory"
	"github.com/httplimit/httplimit/benchmarks/workload"
)

// plenty is a limit that no benchmark reaches. It is the largest that httplimit takes.
const plenty = 1_000_000_000

// load is who asks, in which order.
type load struct {
	name  string
	keys  []string
	order *workload.Order
}

func loads() []load {
	const many, most = 100_000, 1_000_000
	keys := workload.Addresses(most)
	return []load{
		{"hot", keys[:1], workload.Uniform(1)},
		{"uniform100k", keys[:many], workload.Uniform(many)},
		{"zipf1m", keys, workload.Zipf(most)},
	}
}

// BenchmarkMemory decides for clients that have been there before. It has the limiters in the inner loop, so that what
// is compared is measured within seconds.
func BenchmarkMemory(b *testing.B) {
	for _, l := range loads() {
		b.Run("load="+l.name+"/answer=allowed", func(b *testing.B) { l.compare(b, plenty) })
		if l.name != "zipf1m" {
			b.Run("load="+l.name+"/answer=refused", func(b *testing.B) { l.compare(b, 1) })
		}
	}
}

func (l load) compare(b *testing.B, limit int64) {
	for _, s := range memory.Subjects() {
		open := sync.OnceValues(func() (func() memory.Take, error) { return l.fill(s, limit) })
		b.Run("limiter="+s.Name, func(b *testing.B) {
			session, err := open()
			if err != nil {
				b.Fatal(err)
			}
			l.run(b, session, limit > 1 || s.Name == "none")
		})
	}
}

// fill opens a limiter that has seen every client once.
func (l load) fill(s memory.Subject, limit int64) (func() memory.Take, error) {
	session, err := s.Open(limit, workload.Window, 2*len(l.keys))
	if err != nil {
		return nil, err
	}
	take := session()
	for _, key := range l.keys {
		if _, err := take(key); err != nil {
			return nil, err
		}
	}
	return session, nil
}

func (l load) run(b *testing.B, session func() memory.Take, want bool) {
	workload.Run(b, func() func(int) bool {
		take := session()
		return func(i int) bool {
			allowed, err := take(l.keys[l.order[i%workload.Visits]])
			return allowed == want && err == nil
		}
	})
}
