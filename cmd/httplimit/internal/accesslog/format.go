package accesslog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Formats are the names that Options.Format takes, besides "nginx:" and a log_format.
var Formats = []string{"auto", "common", "combined", "vhost", "caddy", "traefik", "alb", "gcp", "ltsv", "csv", "jsonl"}

// parser reads the lines of one format. It fills in an Entry that is zero, and what it returned an error for may be
// filled in partly.
type parser interface {
	parse(line string, e *Entry) error
}

var (
	errNoRequest = errors.New("it tells no request")
	errClient    = errors.New("the client is longer than any name")
	errFuture    = errors.New("the time lies behind the year 2105")
)

// wrongFormat is an error of a line that shows that the whole log is of another format.
type wrongFormat struct{ error }

// maxClient is how long a client may be: longer than any address, as long as a domain name.
const maxClient = 255

// maxTime is until when times are read, in Unix milliseconds: their seconds fit into 32 bits.
const maxTime = 4291747200_000 // the year 2106 begins

// CheckFormat reports what is wrong with a format and a map, before any log is opened.
func CheckFormat(format, mapping string) error {
	names, err := parseMap(mapping)
	if err != nil {
		return fmt.Errorf("map: %w", err)
	}
	mapped := format == "" || slices.Contains([]string{"auto", "ltsv", "csv", "jsonl"}, format)
	if len(names.own) > 0 && !mapped {
		return fmt.Errorf("map: it is for the formats ltsv, csv and jsonl, not for %s", format)
	}
	if format == "" || format == "auto" {
		return nil
	}
	_, err = newParser(format, names)
	return err
}

// newParser returns the parser of a named format.
func newParser(format string, n names) (parser, error) {
	if text, ok := strings.CutPrefix(format, "nginx:"); ok {
		f, err := newNginx(text)
		if err != nil {
			return nil, fmt.Errorf("format: the log_format cannot be used: %w", err)
		}
		return f, nil
	}
	switch format {
	case "common", "combined", "vhost":
		return common{}, nil
	case "caddy":
		return caddy{}, nil
	case "traefik":
		return traefik{}, nil
	case "alb":
		return alb{}, nil
	case "gcp":
		return gcp{}, nil
	case "ltsv":
		return ltsv{n}, nil
	case "csv":
		return &commas{names: n}, nil
	case "jsonl":
		return jsonLines{n}, nil
	case "nginx":
		return nil, errors.New(`format: write the log_format behind "nginx:", such as ` +
			`nginx:'$remote_addr [$time_local] "$request" $status'`)
	}
	return nil, fmt.Errorf("format: there is no %q; there are %s and nginx:'LOG_FORMAT'", format,
		strings.Join(Formats, ", "))
}

// parseLine reads one line and checks what no format may leave out.
func parseLine(p parser, line string, e *Entry) error {
	if err := p.parse(line, e); err != nil {
		return err
	}
	if e.At >= maxTime {
		return errFuture
	}
	if len(e.Client) > maxClient {
		return errClient
	}
	if e.Client == "" {
		return errNoClient
	}
	return nil
}
