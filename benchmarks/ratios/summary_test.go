package main

import (
	"strings"
	"testing"
)

func TestSummary(t *testing.T) {
	const lines = `
BenchmarkMemory/load=hot/answer=allowed/limiter=httplimit   	100	60 ns/op
BenchmarkMemory/load=hot/answer=allowed/limiter=httplimit-take   	100	10 ns/op
BenchmarkMemory/load=hot/answer=allowed/limiter=none   	100	1 ns/op
BenchmarkMemory/load=hot/answer=allowed/limiter=good   	100	90 ns/op
BenchmarkMemory/load=hot/answer=allowed/limiter=slow   	100	120 ns/op
BenchmarkMemory/load=hot/answer=allowed/limiter=httplimit-2   	100	100 ns/op
BenchmarkMemory/load=hot/answer=allowed/limiter=good-2   	100	80 ns/op
`
	got := printed(t, lines, view{summary: true})
	for _, want := range []string{"takes 60 ns", "1.50 (good)", "0.80 (good)"} {
		if !strings.Contains(strings.ReplaceAll(got, "\n  ", " "), want) {
			t.Errorf("%q is missing: got %s", want, got)
		}
	}
	for line := range strings.Lines(got) {
		if len(line) > 121 {
			t.Errorf("a line of %d characters, want up to 120: %s", len(line)-1, line)
		}
	}
}
