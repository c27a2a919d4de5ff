package accesslog

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// sampleSize is how much of a log's beginning is looked at to find out its format and which fields it tells.
const sampleSize = 256 << 10

// candidates are the formats to try, the more special ones first: JSON lines can be read as jsonl too.
var candidates = []string{"caddy", "traefik", "gcp", "alb", "combined", "ltsv", "jsonl", "csv"}

// ErrFormat says that the format of a log is not known.
var ErrFormat = errors.New("its format is not known")

// detect returns the name of the format of the lines in sample: the first of the candidates that reads at least half as
// many of them as the one that reads the most.
func detect(sample []string, n names) (string, error) {
	counts := make([]int, len(candidates))
	most := 0
	for i, name := range candidates {
		if len(n.own) > 0 && name != "ltsv" && name != "csv" && name != "jsonl" {
			continue
		}
		counts[i] = countParsed(name, sample, n)
		most = max(most, counts[i])
	}
	for i, name := range candidates {
		if most == 0 || counts[i]*2 < most {
			continue
		}
		if name == "combined" {
			return commonName(sample), nil
		}
		return name, nil
	}
	return "", unknown(sample)
}

// countParsed returns how many of the lines a format can read. One line of columns' names is worth a line.
func countParsed(name string, sample []string, n names) (parsed int) {
	p, err := newParser(name, n)
	if err != nil {
		return 0
	}
	for _, line := range sample {
		var e Entry
		err := parseLine(p, line, &e)
		if err == nil || errors.Is(err, errHeader) {
			parsed++
		}
		if _, other := err.(*wrongFormat); other {
			return 0
		}
	}
	return parsed
}

// commonName tells the relatives of the common log format apart.
func commonName(sample []string) string {
	var vhost, combined int
	for _, line := range sample {
		var e Entry
		if parseLine(common{}, line, &e) != nil {
			continue
		}
		switch {
		case e.Host != "":
			vhost++
		case strings.Count(line, `"`) >= 6:
			combined++
		default:
			combined--
		}
	}
	switch {
	case vhost > max(combined, 0):
		return "vhost"
	case combined > 0:
		return "combined"
	}
	return "common"
}

// unknown says what to do about a log of no known format.
func unknown(sample []string) error {
	if len(sample) == 0 {
		return fmt.Errorf("%w: it has no line that ends within %d KiB", ErrFormat, sampleSize>>10)
	}
	return fmt.Errorf("%w; say it with -format: one of %s, or nginx:'LOG_FORMAT' with the log_format of your nginx.conf; "+
		"name the columns of ltsv, csv and jsonl with -map", ErrFormat, strings.Join(Formats[1:], ", "))
}

// sampleLines returns the whole lines at the beginning of a log; an unfinished last one only if the log ends there.
func sampleLines(head []byte, ends bool) (lines []string) {
	for len(head) > 0 {
		line, rest, whole := bytes.Cut(head, []byte("\n"))
		if !whole && !ends {
			break
		}
		if text := strings.TrimSuffix(string(line), "\r"); strings.TrimSpace(text) != "" {
			lines = append(lines, text)
		}
		head = rest
	}
	return lines
}

// isBinary reports whether a log is none: it holds bytes that no text has.
func isBinary(head []byte) bool {
	return bytes.IndexByte(head[:min(len(head), 8<<10)], 0) >= 0
}
