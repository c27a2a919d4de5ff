package replay_test

import (
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/accesslog"
	"github.com/httplimit/httplimit/cmd/httplimit/internal/replay"
)

// moments is a Source of entries at these times. The client says which log and line it is.
type moments struct {
	name string
	at   []int64
	next int
}

func (m *moments) Next() *accesslog.Entry {
	if m.next == len(m.at) {
		return nil
	}
	m.next++
	return &accesslog.Entry{At: m.at[m.next-1], Client: m.name + string(rune('0'+m.next))}
}

func TestMergeOrder(t *testing.T) {
	for name, c := range map[string]struct {
		logs            [][]int64
		want            string
		late, reordered int64
	}{
		"one log":                    {logs: [][]int64{{1, 2, 3}}, want: "a1 a2 a3"},
		"equal times by file":        {logs: [][]int64{{5, 5}, {5, 5}}, want: "a1 a2 b1 b2"},
		"turn by turn":               {logs: [][]int64{{1, 30, 50}, {20, 40}}, want: "a1 b1 a2 b2 a3"},
		"out of order":               {logs: [][]int64{{10, 30, 20, 40}}, want: "a1 a3 a2 a4", reordered: 1},
		"as far as is put in order":  {logs: [][]int64{{200, 100, 300}}, want: "a2 a1 a3", reordered: 1},
		"further than that":          {logs: [][]int64{{200, 99, 300}}, want: "a1 a3", late: 1},
		"each log by itself":         {logs: [][]int64{{1000, 1100}, {0, 100}}, want: "b1 b2 a1 a2"},
		"a later log begins earlier": {logs: [][]int64{{200, 210}, {205, 110, 206}}, want: "b2 a1 b1 b3 a2", reordered: 1},
		"an empty log":               {logs: [][]int64{{}, {1}}, want: "b1"},
	} {
		var sources []replay.Source
		for i, at := range c.logs {
			sources = append(sources, &moments{name: string(rune('a' + i)), at: at})
		}
		m := replay.NewMerge(sources, 100*time.Millisecond)
		var got []string
		for e := m.Next(); e != nil; e = m.Next() {
			got = append(got, e.Client)
		}
		if strings.Join(got, " ") != c.want || m.Late() != c.late || m.Reordered() != c.reordered {
			t.Errorf("%s: %v, %d late, %d reordered, want %s, %d, %d", name, got, m.Late(), m.Reordered(), c.want, c.late,
				c.reordered)
		}
	}
}

// Whatever the order of lines, those within maxReorder come out sorted and complete.
func TestMergeSorts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var sources []replay.Source
		var want []int64
		for range 1 + random.IntN(5) {
			m := &moments{name: "x"}
			at := random.Int64N(1000)
			for range random.IntN(300) {
				at += random.Int64N(20)
				m.at = append(m.at, at-random.Int64N(40))
			}
			sources, want = append(sources, m), append(want, m.at...)
		}
		sort.Slice(want, func(i, j int) bool { return want[i] < want[j] })
		m := replay.NewMerge(sources, 100*time.Millisecond)
		var got []int64
		for e := m.Next(); e != nil; e = m.Next() {
			got = append(got, e.At)
		}
		if !slices.Equal(got, want) || m.Late() != 0 {
			t.Fatalf("%d entries came out, %d late, want %d sorted ones", len(got), m.Late(), len(want))
		}
	}
}

// longLines is a Source of lines of 16 KB within one minute, as those who flood a server can make them.
type longLines struct{ read int }

func (l *longLines) Next() *accesslog.Entry {
	if l.read == 30_000 {
		return nil
	}
	l.read++
	return &accesslog.Entry{At: int64(l.read), Client: "192.0.2.1", Target: target}
}

var target = "/" + strings.Repeat("x", 16<<10)

func TestMergeBoundsMemory(t *testing.T) {
	source := &longLines{}
	m := replay.NewMerge([]replay.Source{source}, time.Minute)
	given := 0
	for e := m.Next(); e != nil; e = m.Next() {
		if given++; (source.read-given)*len(target) > 80<<20 {
			t.Fatalf("%d lines of %d bytes wait", source.read-given, len(target))
		}
	}
	if given != 30_000 || m.Late() != 0 {
		t.Errorf("%d lines came out and %d were late, want all", given, m.Late())
	}
}
