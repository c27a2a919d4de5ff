package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/policyfile"
	"github.com/httplimit/httplimit/policy"
)

const checkUsage = `usage: httplimit check [-q] FILE...|-

Checks policies, in JSON or YAML, and prints what they say: their rules, and what the program has to bring. Every fault
is told on standard error, as file:line:column: what is wrong.

    httplimit check policy.json
    httplimit check -q policies/*.yaml && git push
    generate | httplimit check -

`

// check reads policies and tells all their faults.
func check(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("httplimit check", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	quiet := flags.Bool("q", false, "print nothing about a policy that is in order")
	usage := func(w io.Writer) {
		fmt.Fprint(w, checkUsage)
		flags.SetOutput(w)
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case err == flag.ErrHelp:
		usage(stdout)
		return exitOK
	case err != nil:
		fmt.Fprintf(stderr, "httplimit check: %v. See httplimit check -h.\n", err)
		return exitFault
	case flags.NArg() == 0:
		fmt.Fprintln(stderr, "httplimit check: there is no policy: name its file, or - for standard input. "+
			"See httplimit check -h.")
		return exitFault
	}
	status := exitOK
	printed := false
	for _, name := range flags.Args() {
		p, err := policyfile.Read(name, stdin)
		if err != nil {
			fmt.Fprintln(stderr, printable(err.Error()))
			status = exitFault
			continue
		}
		if !*quiet {
			if printed {
				fmt.Fprintln(stdout)
			}
			writePolicy(stdout, name, p)
			printed = true
		}
	}
	return status
}

// writePolicy tells what a policy says.
func writePolicy(w io.Writer, name string, p *policy.Policy) {
	rules := fmt.Sprintf("%d rules", len(p.Rules))
	if len(p.Rules) == 1 {
		rules = "1 rule"
	}
	if name == policyfile.Stdin {
		name = "standard input"
	}
	fmt.Fprintf(w, "%s: %s, no faults\n", printable(name), rules)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range p.Rules {
		r := &p.Rules[i]
		line := fmt.Sprintf("  %s\t%s\t%s", r.Name, r.Limit, r.Key)
		if more := remarks(r); more != "" {
			line += "\t" + printable(more)
		}
		fmt.Fprintln(table, line)
	}
	_ = table.Flush()
	if wanted := wantedOf(p); wanted != "" {
		fmt.Fprintf(w, "  the program brings %s\n", wanted)
	}
}

// remarks tells what else there is to a rule.
func remarks(r *policy.Rule) string {
	var all []string
	for _, c := range r.When {
		all = append(all, c.String())
	}
	for name, set := range map[string]bool{
		"only from some networks": len(r.OnlyFrom) > 0, "not from some networks": len(r.NotFrom) > 0,
		"shadow": r.Shadow, "private": r.Private, "in flight": r.InFlight, "ban": r.Ban != nil,
	} {
		if set {
			all = append(all, name)
		}
	}
	slices.Sort(all[len(r.When):])
	if len(r.Plans) > 0 {
		all = append(all, "plans "+strings.Join(slices.Sorted(maps.Keys(r.Plans)), " "))
	}
	if r.Percent > 0 && r.Percent < 100 {
		all = append(all, fmt.Sprintf("%d %% of the keys", r.Percent))
	}
	return strings.Join(all, ", ")
}

// wantedOf tells which names a policy takes from its program; "" if none.
func wantedOf(p *policy.Policy) string {
	keys, conditions := map[string]bool{}, map[string]bool{}
	plans := false
	for i := range p.Rules {
		r := &p.Rules[i]
		for _, parts := range slices.Concat(r.Key.Alternatives(), r.NoKey.Alternatives()) {
			for _, part := range parts {
				keys[part.Name] = keys[part.Name] || part.Kind == policy.Name
			}
		}
		for _, c := range r.When {
			conditions[c.Name()] = c.Name() != ""
		}
		plans = plans || len(r.Plans) > 0
	}
	var all []string
	for what, names := range map[string]map[string]bool{"Names.Keys": keys, "Names.When": conditions} {
		maps.DeleteFunc(names, func(_ string, named bool) bool { return !named })
		if len(names) > 0 {
			all = append(all, what+" "+strings.Join(slices.Sorted(maps.Keys(names)), " "))
		}
	}
	slices.Sort(all)
	if plans {
		all = append(all, "Names.Plan")
	}
	return strings.Join(all, ", ")
}
