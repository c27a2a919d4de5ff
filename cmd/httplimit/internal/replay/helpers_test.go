package replay_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/cmd/httplimit/internal/accesslog"
	"github.com/httplimit/httplimit/cmd/httplimit/internal/replay"
	"github.com/httplimit/httplimit/cmd/httplimit/internal/report"
	"github.com/httplimit/httplimit/limiter"
)

// monday is where the logs of these tests begin.
var monday = time.Date(2025, 3, 3, 9, 15, 0, 0, time.UTC).UnixMilli()

// said is what the rules said of one request.
type said struct {
	client  string
	at      int64
	status  int
	refused map[string]bool
	waits   map[string]time.Duration
	rules   []httplimit.Observed
}

// witness is an Observer that keeps everything.
type witness struct {
	all  []said
	next *accesslog.Entry
}

func (w *witness) Observe(_ context.Context, o *httplimit.Observation) {
	s := said{client: w.next.Client, at: w.next.At, status: o.Status, refused: map[string]bool{},
		waits: map[string]time.Duration{}}
	for _, one := range o.Rules {
		s.refused[one.Rule] = one.Result == httplimit.ResultRefused || one.Result == httplimit.ResultBanned
		s.waits[one.Rule] = one.RetryAfter
		one.Key = strings.Clone(one.Key)
		s.rules = append(s.rules, one)
	}
	w.all = append(w.all, s)
}

// byAddress is a rule that counts addresses.
func byAddress(name, limit string) httplimit.Rule {
	l, err := limiter.ParseLimit(limit)
	if err != nil {
		panic(err)
	}
	return httplimit.Rule{Name: name, Key: httplimit.ClientIP(), Limit: l}
}

func policyOf(rules ...httplimit.Rule) replay.Policy {
	p := replay.Policy{Config: httplimit.Config{Rules: rules}}
	for range rules {
		p.Rules = append(p.Rules, replay.Rule{Key: "ip", ByAddress: true})
	}
	return p
}

// run replays texts of logs, in any format, and returns what was said and the report.
func run(t *testing.T, p replay.Policy, o replay.Options, format string, texts ...string) ([]said, report.Data) {
	t.Helper()
	w := &witness{}
	p.Config.Observer = w
	r, err := replay.New(p, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var sources []replay.Source
	in := replay.Reading{Format: format, MaxReorder: 2 * time.Minute}
	for _, text := range texts {
		l, err := accesslog.Open(strings.NewReader(text), accesslog.Options{Format: format})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		sources = append(sources, &lines{t: t, log: l, in: &in})
	}
	m := replay.NewMerge(sources, in.MaxReorder)
	for e := m.Next(); e != nil; e = m.Next() {
		w.next = e
		r.Request(e)
	}
	in.Late, in.Reordered = m.Late(), m.Reordered()
	return w.all, r.Report(in)
}

// lines is a Source of a log.
type lines struct {
	t   *testing.T
	log *accesslog.Reader
	in  *replay.Reading
}

func (l *lines) Next() *accesslog.Entry {
	for {
		e, err := l.log.Next()
		var bad *accesslog.BadLine
		switch {
		case err == nil:
			l.in.Lines++
			return &e
		case errors.As(err, &bad):
			l.in.Lines++
			l.in.Bad++
		case errors.Is(err, io.EOF):
			return nil
		default:
			l.t.Fatal(err)
		}
	}
}

// combinedLine writes a line of the combined log format.
func combinedLine(client string, at int64, request string, status int, agent string) string {
	return fmt.Sprintf("%s - - [%s] %q %d 12 \"-\" %q\n", client,
		time.UnixMilli(at).UTC().Format("02/Jan/2006:15:04:05 -0700"), request, status, agent)
}

// jsonLine writes a line with milliseconds.
func jsonLine(client string, at int64) string {
	return fmt.Sprintf(`{"ts":%d,"client":%q,"method":"GET","path":"/","status":200,"agent":"browser"}`+"\n", at, client)
}
