package main

import (
	"fmt"
	"io"
	"time"
)

// progress tells on a terminal how far the reading is: lines, share, rate and time left. It tells nothing in a pipe.
type progress struct {
	out   io.Writer // nil: no terminal
	logs  *logs
	began time.Time
	shown time.Time
	lines int64
}

func newProgress(stderr io.Writer, l *logs) *progress {
	p := &progress{logs: l, began: time.Now()}
	if isTerminal(stderr) {
		p.out = stderr
	}
	return p
}

// lookEvery is after how many lines the clock is asked, which costs more than a line.
const lookEvery = 1 << 12

func (p *progress) line() {
	if p.lines++; p.out == nil || p.lines%lookEvery != 0 {
		return
	}
	if now := time.Now(); now.Sub(p.shown) >= 200*time.Millisecond {
		p.shown = now
		fmt.Fprint(p.out, "\r\x1b[K"+p.text(now.Sub(p.began)))
	}
}

// text is what is told after that time.
func (p *progress) text(passed time.Duration) string {
	rate := float64(p.lines) / max(passed.Seconds(), 1e-3)
	text := fmt.Sprintf("%d lines, %.0f lines/s", p.lines, rate)
	var read, size int64
	for _, f := range p.logs.all {
		read, size = read+f.raw.n.Load(), size+f.size
		if f.size == 0 {
			return text
		}
	}
	if read == 0 {
		return text
	}
	share := min(1, float64(read)/float64(size))
	left := time.Duration(float64(passed) * (1 - share) / share)
	return fmt.Sprintf("%s, %.0f %%, %s left", text, 100*share, left.Round(time.Second))
}

// end wipes the line.
func (p *progress) end() {
	if p.out != nil && !p.shown.IsZero() {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
