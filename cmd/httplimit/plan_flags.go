package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/accesslog"
	"github.com/httplimit/httplimit/limiter"
)

// planOptions are the command line of plan.
type planOptions struct {
	policy          string
	format, mapping string
	trust           []netip.Prefix
	from, to        time.Time
	suggest         bool
	windows         []time.Duration
	top             int
	html, json      string
	anonymize       bool
	maxReorder      time.Duration
	maxBytes        int64
	failAbove       map[string]float64 // percent, by rule
	files           []string
}

var errHelp = errors.New("help")

const (
	defaultWindows  = "1s,10s,1m,1h"
	defaultReorder  = 2 * time.Minute
	defaultMaxBytes = 64 << 30 // more than a day of the busiest of single servers
)

// parsePlan reads the command line. All that is wrong with it is told at once.
func parsePlan(args []string, stderr io.Writer) (*planOptions, error) {
	o := &planOptions{failAbove: map[string]float64{}}
	set := o.flags()
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, errHelp
		}
		return o, fmt.Errorf("%w; see httplimit plan -h", err)
	}
	o.files = set.Args()
	return o, o.check()
}

func (o *planOptions) flags() *flag.FlagSet {
	set := flag.NewFlagSet("plan", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&o.policy, "policy", "", "the policy's `file`")
	set.StringVar(&o.format, "format", "auto",
		"format of the logs: "+strings.Join(accesslog.Formats, ", ")+" or nginx:'LOG_FORMAT'")
	set.StringVar(&o.mapping, "map", "",
		"names in logs of ltsv, csv and jsonl: 'time=ts,client=ip,path=uri,status=code,method=verb,agent=ua,'\n"+
			"and 'header.X-User=user' for a field of the request's header")
	set.Func("trust", "a `network` of proxies whose X-Forwarded-For is believed, besides trustedProxies of the policy;\n"+
		"may be there several times", o.addTrust)
	set.Func("from", "leave out requests before this `time`: 2025-03-03, 2025-03-03T09:15 or RFC 3339; UTC without a zone",
		momentFlag(&o.from))
	set.Func("to", "leave out requests from this `time` on", momentFlag(&o.to))
	set.BoolVar(&o.suggest, "suggest", false, "print the suggested limits over each window")
	set.Func("window", "`lengths` of windows to look at besides the rules' own (default "+defaultWindows+")", o.setWindows)
	set.IntVar(&o.top, "top", 50, "tell so `many` of the clients that were refused most")
	set.StringVar(&o.html, "o", "", "write the report with its pictures to this HTML `file`")
	set.StringVar(&o.json, "json", "", "write the report as JSON to this `file`")
	set.BoolVar(&o.anonymize, "anonymize", false,
		"tell no address, user or query; a name that stands in paths or user agents alone is not known, and stays")
	set.DurationVar(&o.maxReorder, "max-reorder", defaultReorder,
		"put lines in order that are out of it by up to this `duration`")
	set.Func("max-bytes", "fail if more `bytes` than this are unpacked: 500MB, 64GiB (default 64GiB)", o.setMaxBytes)
	set.Func("fail-above", "exit with 3 if a rule refuses more than this: `rule=0.5%`; may be there several times",
		o.addFailAbove)
	_ = set.Parse(nil)
	o.maxBytes = defaultMaxBytes
	_ = o.setWindows(defaultWindows)
	return set
}

func (o *planOptions) check() error {
	var errs []error
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	add(o.policy == "", "there is no policy: name its file with -policy policy.json")
	add(len(o.files) == 0, `there is no log: name its files behind the flags, or "-" for standard input`)
	add(o.top < 1 || o.top > 10_000, "-top: %d is no number of clients, want 1 to 10000", o.top)
	add(o.maxReorder < 0 || o.maxReorder > 24*time.Hour, "-max-reorder: %v is out of range, want 0 to 24h", o.maxReorder)
	add(!o.from.IsZero() && !o.to.IsZero() && !o.from.Before(o.to),
		"-from is not before -to, so no request lies between them")
	if err := accesslog.CheckFormat(o.format, o.mapping); err != nil {
		errs = append(errs, fmt.Errorf("-%w", err))
	}
	stdins := 0
	for i, f := range o.files {
		if f == "-" {
			stdins++
		}
		add(i > 0 && strings.HasPrefix(f, "-") && f != "-", "%s stands behind a file: flags come before the files", f)
	}
	add(stdins > 1, `"-" is there twice, and standard input can be read once`)
	return errors.Join(append(errs, o.checkOutputs()...)...)
}

func (o *planOptions) addTrust(text string) error {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return errors.New("want a network such as 10.0.0.0/8, or an address")
		}
		p = netip.PrefixFrom(a, a.BitLen())
	}
	if p.Bits() == 0 {
		return errors.New("it is everybody, want the networks of your proxies")
	}
	o.trust = append(o.trust, p)
	return nil
}

func momentFlag(t *time.Time) func(string) error {
	return func(text string) error {
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05",
			"2006-01-02 15:04", "2006-01-02"} {
			if parsed, err := time.Parse(layout, text); err == nil {
				*t = parsed
				return nil
			}
		}
		return errors.New("want a time such as 2025-03-03, 2025-03-03T09:15 or 2025-03-03T09:15:00+01:00")
	}
}

// maxWindows bounds the work a request makes.
const maxWindows = 10

func (o *planOptions) setWindows(text string) error {
	o.windows = nil
	for one := range strings.SplitSeq(text, ",") {
		l, err := limiter.ParseLimit("1/" + strings.TrimSpace(one))
		if err != nil || l.Algorithm != limiter.SlidingWindow {
			return fmt.Errorf("%q is no length of a window, want such as 1s, 15m, 1h or 1d, separated by commas", one)
		}
		o.windows = append(o.windows, l.Window)
	}
	if len(o.windows) > maxWindows {
		return fmt.Errorf("there are %d, want at most %d", len(o.windows), maxWindows)
	}
	return nil
}

func (o *planOptions) setMaxBytes(text string) error {
	units := []struct {
		name string
		of   float64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
		{"TB", 1e12}, {"", 1}}
	for _, u := range units {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if err != nil || !(n*u.of >= 1 && n*u.of <= 1<<60) {
			break
		}
		o.maxBytes = int64(n * u.of)
		return nil
	}
	return errors.New("want a number of bytes such as 500MB or 64GiB")
}

func (o *planOptions) addFailAbove(text string) error {
	at := strings.LastIndexByte(text, '=') // a rule's name may hold one
	if at < 1 {
		return errors.New("want a rule's name and a share, such as login=0.5%")
	}
	share, percent := strings.CutSuffix(strings.TrimSpace(text[at+1:]), "%")
	n, err := strconv.ParseFloat(strings.TrimSpace(share), 64)
	if err != nil || !percent || !(n >= 0 && n <= 100) {
		return errors.New("want a share from 0% to 100% behind the name, such as login=0.5%")
	}
	if _, twice := o.failAbove[text[:at]]; twice {
		return fmt.Errorf("rule %q is there twice", text[:at])
	}
	o.failAbove[text[:at]] = n
	return nil
}

const planHead = `httplimit plan tells what a policy would have done to the requests in access logs.

    httplimit plan -policy policy.json access.log
    httplimit plan -policy policy.json -o report.html -suggest access.log access.log.*.gz
    kubectl logs deploy/web | httplimit plan -policy policy.json -format jsonl -map 'time=ts,client=ip' -

Files may be packed by gzip or zstd, and are merged by time; "-" is standard input. Lines that cannot be read are
counted, and the first of them is shown.
Exit status: 0; 1 for a bad command line, policy or file; 3 where -fail-above is exceeded.

`

func planHelp(w io.Writer) {
	fmt.Fprint(w, planHead)
	set := (&planOptions{failAbove: map[string]float64{}}).flags()
	set.SetOutput(w)
	set.PrintDefaults()
}

// isTerminal reports whether w is a terminal.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && info.Mode()&os.ModeDevice != 0
}

// terminalWidth returns how many characters fit into a line, where the shell says so; else 0.
func terminalWidth(w io.Writer) int {
	if !isTerminal(w) {
		return 0
	}
	n, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err != nil || n < 0 {
		return 0
	}
	return n
}
