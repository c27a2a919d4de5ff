// Release checks that a version of all modules can be tagged, and tags it. CONTRIBUTING.md, "Releases", says when.
//
//	.ci/release --dry-run [VERSION]   checks only; without VERSION the next minor one
//	.ci/release VERSION               checks, and makes the tags of the next step in this clone: first the root's, and
//	                                  when the nested modules require it, theirs. It pushes nothing.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	dry := flags.Bool("dry-run", false, "check only")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 1 || flags.NArg() == 0 && !*dry {
		return errors.New("usage: .ci/release [--dry-run] VERSION; only with --dry-run may VERSION be left out")
	}
	r, err := open(flags.Arg(0))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s, %s\n", r.version, r.step())
	if faults := r.check(*dry); len(faults) > 0 {
		return fmt.Errorf("not ready:\n  %s", strings.Join(faults, "\n  "))
	}
	for _, tag := range r.tags() {
		if !*dry {
			if _, err := command(".", "git", "tag", "-a", tag, "-m", tag); err != nil {
				return err
			}
		}
		fmt.Fprintln(out, "  tag", tag)
	}
	fmt.Fprintln(out, r.next())
	return nil
}

// release is one version on its way.
type release struct {
	version  string
	modules  []module // the root first; those that are published
	existing []string // tags
	rooted   bool     // the root is tagged: now it is the nested modules' turn
}

func open(version string) (*release, error) {
	list, err := command(".", "git", "tag", "--list")
	if err != nil {
		return nil, err
	}
	r := &release{version: version, existing: strings.Fields(list)}
	if version == "" {
		r.version = nextMinor(r.existing)
	}
	for _, tag := range r.existing {
		r.rooted = r.rooted || tag == r.version
	}
	r.modules, err = published()
	return r, err
}

// step says what is tagged now.
func (r *release) step() string {
	if r.rooted {
		return "second step: the nested modules, which require the root that is tagged"
	}
	return "first step: the root module"
}

// tags returns what this step makes.
func (r *release) tags() []string {
	if !r.rooted {
		return []string{r.version}
	}
	var tags []string
	for _, m := range r.modules[1:] {
		tags = append(tags, m.folder+"/"+r.version)
	}
	return tags
}

// next says what a person does afterwards.
func (r *release) next() string {
	if r.rooted {
		return "then: push these tags; bring the replace lines of commands back with the next commit"
	}
	return "then: push the tag; when the module proxy serves it, set the requirements of the nested modules to " +
		r.version + ",\nleave out the replace lines of commands, go mod tidy, commit, and run this again"
}
