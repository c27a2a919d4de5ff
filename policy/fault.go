package policy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Fault is what is wrong in one place of a policy. The errors of this package join them; [Faults] lists them.
type Fault struct {
	Line, Column int    // from 1; columns are characters. 0 where the policy was not read from a text
	Path         string // such as "rules[1].limit"; "" for the text as a whole
	Rule         string // the name of that rule, if it has one
	Reason       string // what is wrong and what would be right
}

// Error returns "policy: 4:38: rules[1] "login".limit: " and the reason.
func (f *Fault) Error() string { return "policy: " + f.Text() }

// Text is Error without the name of the package: for a list of faults behind the name of a file.
func (f *Fault) Text() string {
	place := f.Path
	if bracket := strings.IndexByte(place, ']') + 1; f.Rule != "" && bracket > 0 {
		place = fmt.Sprintf("%s %q%s", place[:bracket], f.Rule, place[bracket:])
	}
	if place != "" {
		place += ": "
	}
	if f.Line > 0 {
		place = fmt.Sprintf("%d:%d: %s", f.Line, f.Column, place)
	}
	return place + f.Reason
}

// Faults returns the faults that err holds, in the order of the text; none if it is no error of this package.
func Faults(err error) []*Fault {
	var all []*Fault
	var collect func(error)
	collect = func(err error) {
		switch joined := err.(type) {
		case *Fault:
			all = append(all, joined)
		case interface{ Unwrap() []error }:
			for _, one := range joined.Unwrap() {
				collect(one)
			}
		default:
			if one := errors.Unwrap(err); one != nil {
				collect(one)
			}
		}
	}
	collect(err)
	return all
}

// place is where something stands in a text: line and column from 1. The zero place is unknown.
type place struct{ line, column int }

// faults collects what is wrong with a policy.
type faults struct {
	all    []*Fault
	values map[string]bool  // the paths whose values have one
	places map[string]place // by path
}

func newFaults() *faults {
	return &faults{values: make(map[string]bool), places: make(map[string]place)}
}

// add adds a fault of the value at a path. Where that has no place, it is that of the nearest around it.
func (f *faults) add(path, format string, args ...any) {
	f.values[path] = true
	at, known := f.places[path]
	for around := path; !known && around != ""; at, known = f.places[around] {
		around = outside(around)
	}
	f.addAt(at, path, format, args...)
}

// has reports whether the value at a path has a fault, or one around it: what else is wrong with it follows from that.
func (f *faults) has(path string) bool {
	for ; !f.values[path]; path = outside(path) {
		if path == "" {
			return false
		}
	}
	return true
}

// outside returns the path of what a value stands in.
func outside(path string) string { return path[:max(0, strings.LastIndexAny(path, ".["))] }

// addAt adds a fault of a name, at the path of the object that has it.
func (f *faults) addAt(at place, path, format string, args ...any) {
	f.all = append(f.all, &Fault{Line: at.line, Column: at.column, Path: path, Reason: fmt.Sprintf(format, args...)})
}

// err joins the faults in the order of the text. names are those of the rules.
func (f *faults) err(names []string) error {
	slices.SortStableFunc(f.all, func(a, b *Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	list := make([]error, len(f.all))
	for i, fault := range f.all {
		var rule int
		if n, _ := fmt.Sscanf(fault.Path, "rules[%d]", &rule); n == 1 && rule < len(names) {
			fault.Rule = names[rule]
		}
		list[i] = fault
	}
	return errors.Join(list...)
}
