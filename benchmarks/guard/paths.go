package main

import (
	"fmt"
	"net/http"

	"github.com/httplimit/httplimit/benchmarks/web"
	"github.com/httplimit/httplimit/benchmarks/workload"
)

// plenty is a limit that is never reached.
const plenty = 1_000_000_000

func hotPaths() []path {
	paths := []path{
		{"memory: Take, allowed", 0, takeOne(plenty)},
		{"memory: Take, refused", 0, takeOne(1)},
		{"memory: Take of a StrictWindow, allowed", 0, takeStrict(plenty)},
		{"memory: Take of a StrictWindow, refused", 0, takeStrict(1)},
		{"memory: Take of three charges", 0, takeThree},
		{"memory: Take, new key", 0, takeNew},
		{"memory: Limiter.Allow", 0, allow},
		{"deny cache: Take, refused", 0, takeCached},
		{"net-http: three rules", 0, serveRules(nil)},
		{"net-http: three rules, one with CountStatus", 1, serveRules(countStatus)},
		{"net-http: three rules, Expose", 4, serveRules(expose)},
		{"net-http: three rules, Observer", 0, serveRules(observe)},
	}
	for _, f := range frameworks() {
		for i, key := range web.Keys() {
			paths = append(paths,
				path{fmt.Sprintf("%s: key=%s, allowed", f.name, key), f.allowed[i], serve(f.name, key, plenty)},
				path{fmt.Sprintf("%s: key=%s, refused", f.name, key), f.refused[i], serve(f.name, key, 1)})
		}
		if f.alike > 0 {
			name := f.name + ": refused as by its own limiter"
			paths = append(paths, path{name, f.alike, serveSubject(f.name, web.OwnAlike, web.Address, 1)})
		}
	}
	return paths
}

// framework is how many allocations a request has more or less, for each of web.Keys.
type framework struct {
	name             string
	allowed, refused [4]int
	alike            int // of a refusal as the framework's own limiter answers; 0: it has none
}

func frameworks() []framework {
	return []framework{
		{"net-http", [4]int{0, 0, 1, 1}, [4]int{0, 0, 1, 1}, 0},
		{"gin", [4]int{0, 0, 1, 1}, [4]int{0, 0, 1, 1}, 0},
		{"echo", [4]int{1, 1, 2, 2}, [4]int{8, 8, 9, 9}, 11},
		{"echo5", [4]int{0, 0, 1, 1}, [4]int{6, 6, 7, 7}, 10},
		{"fiber", [4]int{0, 0, 1, 1}, [4]int{0, 0, 1, 1}, 1},
		{"fiber3", [4]int{0, 0, 1, 1}, [4]int{0, 0, 1, 1}, 1},
	}
}

// serve is a request through a framework, of a client that has sent some before.
func serve(framework string, key web.Key, limit int64) func() (operation, error) {
	return serveSubject(framework, web.Own, key, limit)
}

func serveSubject(framework, name string, key web.Key, limit int64) func() (operation, error) {
	return func() (operation, error) {
		for _, s := range web.Subjects() {
			if s.Framework != framework || s.Name != name {
				continue
			}
			open, err := s.Open(web.Setup{Key: key, Limit: limit, Window: workload.Window, Refuses: limit == 1})
			if err != nil {
				return nil, err
			}
			serve, want := open().Serve, http.StatusOK
			if limit == 1 {
				serve(0)
				want = http.StatusTooManyRequests
			}
			return func() error { return same(serve(0), want) }, nil
		}
		return nil, fmt.Errorf("there is no framework %q", framework)
	}
}

func same(status, want int) error {
	if status != want {
		return fmt.Errorf("the status is %d, want %d", status, want)
	}
	return nil
}
