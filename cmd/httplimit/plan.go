package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/replay"
	"github.com/httplimit/httplimit/cmd/httplimit/internal/report"
)

// plan replays access logs against a policy.
func plan(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parsePlan(args, stderr)
	if errors.Is(err, errHelp) {
		planHelp(stdout)
		return exitOK
	}
	if err != nil {
		return o.fail(stderr, err)
	}
	data, err := o.replay(stdin, stderr)
	if err != nil {
		return o.fail(stderr, err)
	}
	if err := o.write(data, stdout); err != nil {
		return o.fail(stderr, err)
	}
	return o.judge(data, stderr)
}

// fail says what is wrong, one fault a line.
func (o *planOptions) fail(stderr io.Writer, err error) int {
	for line := range strings.SplitSeq(printable(o.hide(err.Error())), "\n") {
		fmt.Fprintln(stderr, "httplimit plan:", strings.TrimPrefix(line, "httplimit: "))
	}
	return exitFault
}

// replay reads the logs and tells what the policy would have done.
func (o *planOptions) replay(stdin io.Reader, stderr io.Writer) (report.Data, error) {
	logs, err := openLogs(o, stdin)
	if err != nil {
		return report.Data{}, err
	}
	defer logs.close()
	policy, err := o.policyFor(logs)
	if err != nil {
		return report.Data{}, err
	}
	r, err := replay.New(policy, replay.Options{Windows: o.windows, Top: o.top, Anonymize: o.anonymize})
	if err != nil {
		return report.Data{}, err
	}
	defer r.Close()
	if err := o.checkFailAbove(policy); err != nil {
		return report.Data{}, err
	}
	m := replay.NewMerge(logs.sources(), o.maxReorder)
	bar := newProgress(stderr, logs)
	for n := 0; ; n++ {
		if n%memoryEvery == 0 {
			boundMemory()
		}
		e := m.Next()
		if e == nil {
			break
		}
		r.Request(e)
		bar.line()
	}
	bar.end()
	if err := logs.err(); err != nil {
		return report.Data{}, err
	}
	in := logs.reading()
	in.Late, in.Reordered, in.MaxReorder = m.Late(), m.Reordered(), o.maxReorder
	data := r.Report(in)
	if got := &data.Input; got.Parsed == 0 && got.Bad > 0 {
		return report.Data{}, fmt.Errorf("none of the lines could be read as %s: name their format by -format, "+
			"or the columns by -map. The first: %s", got.Format, got.FirstBad)
	}
	data.Tool, data.Policy, data.Made = moduleVersion(), o.hide(filepath.Base(o.policy)), time.Now()
	return data, nil
}

// write writes the report in all forms that were asked for.
func (o *planOptions) write(data report.Data, stdout io.Writer) error {
	style := report.Style{Width: terminalWidth(stdout), Color: isTerminal(stdout)}
	if err := report.WriteTable(stdout, data, style); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	if o.suggest {
		if err := report.WriteSuggestions(stdout, data); err != nil {
			return fmt.Errorf("standard output: %w", err)
		}
	}
	if err := writeFile(o.html, func(w io.Writer) error { return report.WriteHTML(w, data) }); err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	if err := writeFile(o.json, func(w io.Writer) error { return report.WriteJSON(w, data) }); err != nil {
		return fmt.Errorf("-json: %w", err)
	}
	return nil
}

// reason takes the names of the system's calls off an error.
func reason(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}

// judge says which rules refused more than -fail-above allows. Of no request nothing can be said.
func (o *planOptions) judge(data report.Data, stderr io.Writer) int {
	status := exitOK
	if len(o.failAbove) > 0 && data.Input.From.IsZero() {
		fmt.Fprintln(stderr, "httplimit plan: no request was replayed, so that -fail-above has nothing to judge by: "+
			"check the logs, -format, -from and -to")
		return exitFault
	}
	for _, rule := range data.Rules {
		most, asked := o.failAbove[rule.Name]
		if !asked || rule.Total.Requests == 0 {
			continue
		}
		if share := 100 * float64(rule.Total.Refused) / float64(rule.Total.Requests); share > most {
			fmt.Fprintf(stderr, "httplimit plan: rule %q would have refused %.4g %% of its requests, more than the %g %% of "+
				"-fail-above\n", rule.Name, share, most)
			status = exitAbove
		}
	}
	return status
}
