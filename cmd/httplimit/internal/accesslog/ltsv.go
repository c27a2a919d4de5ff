package accesslog

import (
	"errors"
	"strings"
)

var errLTSV = errors.New("it is not made of label:value pairs")

// ltsv reads labeled tab-separated values: label:value, separated by tabs. Labels are those of ltsv.org, the names of
// nginx's variables, and what other servers call the same things; a Map adds to them. On ltsv.org host is the client,
// and vhost the site; where another label is the client, host is the site.
type ltsv struct{ names names }

func (f ltsv) parse(line string, e *Entry) error {
	var found found
	var host string
	for pair := range strings.SplitSeq(line, "\t") {
		label, value, ok := strings.Cut(pair, ":")
		if !ok {
			if strings.TrimSpace(pair) == "" {
				continue
			}
			return errLTSV
		}
		if _, own := f.names.own[label]; label == "host" && !own {
			host = value
			continue
		}
		if err := f.names.set(e, &found, label, value); err != nil {
			return err
		}
	}
	if !found.client {
		e.setPlainClient(host)
		found.client = e.Client != ""
	} else if host = absent(host); host != "" {
		e.Host = host
	}
	return found.check(e)
}
