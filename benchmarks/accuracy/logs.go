package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
)

// readLog reads the requests of an access log in the combined format: client, two words, [time]. What is no such line
// is counted and left out.
func readLog(r io.Reader) (requests []request, bad int, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	var first time.Time
	for lines.Scan() {
		client, at, err := parseLine(lines.Text())
		if err != nil {
			bad++
			continue
		}
		if first.IsZero() {
			first = at.Truncate(24 * time.Hour)
		}
		requests = append(requests, request{at.Sub(first), client})
	}
	return inOrder(requests), bad, lines.Err()
}

func parseLine(line string) (client string, at time.Time, err error) {
	client, rest, _ := strings.Cut(line, " ")
	_, rest, ok := strings.Cut(rest, "[")
	stamp, _, closed := strings.Cut(rest, "]")
	if client == "" || !ok || !closed {
		return "", at, fmt.Errorf("no line of the combined format: %.40q", line)
	}
	at, err = time.Parse("02/Jan/2006:15:04:05 -0700", stamp)
	return client, at, err
}
