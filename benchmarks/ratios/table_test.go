package main

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	const lines = `goos: linux
processors: 2
cpu: a model
BenchmarkWeb/key=address/limiter=none         	 2000	 10 ns/op	 0 allocs/op
BenchmarkWeb/key=address/limiter=httplimit    	 2000	 90 ns/op	 2 allocs/op
BenchmarkWeb/key=address/limiter=httplimit    	 2000	110 ns/op	 2 allocs/op
BenchmarkWeb/key=address/limiter=httplimit    	 2000	400 ns/op	 2 allocs/op
BenchmarkWeb/key=address/limiter=slow         	 2000	610 ns/op	 9 allocs/op
BenchmarkWeb/key=address/limiter=good         	 2000	210 ns/op	 0 allocs/op
BenchmarkWeb/key=address/limiter=good-2       	 2000	 90 ns/op	 0 allocs/op
BenchmarkWeb/key=address/limiter=slow-2       	--- FAIL: BenchmarkWeb/key=address/limiter=slow-2
BenchmarkRemote/callers=1/limiter=evalsha-2   	 2000	 60 decisions/s
BenchmarkRemote/callers=1/limiter=httplimit-2 	 2000	 50 decisions/s
BenchmarkRemote/callers=1/limiter=other-2     	 2000	 40 decisions/s
ok  	 some/package
`
	got := printed(t, lines, view{})
	for _, want := range []string{
		"cpu: a model; processors: 2. Rivals as in `go.mod`.",
		"| key=address threads=1 | 100 | good 200 | 2.00 | slow 600 (6.00) |",
		"| key=address threads=2 |  | good 90 |  |  |",
		"| key=address threads=1 | 2 | good 0 | slow 9 |",
		"| callers=1 threads=2 | 50 | other 40 | 1.25 | evalsha 60 |",
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("the row is missing: %s\ngot %s", want, got)
		}
	}
}

// printed returns what ratios prints of such lines.
func printed(t *testing.T, lines string, v view) string {
	t.Helper()
	f, about := make(figures), make(facts)
	if err := f.read(strings.NewReader(lines), about); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	v.write(&out, f, about)
	return out.String()
}
