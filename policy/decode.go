package policy

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// object reads what an object has by the members that it may have.
func (d *decoder) object(n *node, path string, required []string, members []member) {
	d.places[path] = n.at
	if n.value != json.Delim('{') {
		d.add(path, "it is %s, want an object with %s", n.is(), quoted(required))
		return
	}
	present := make(map[string]bool)
	for _, f := range d.unique(n, path) {
		i := slices.IndexFunc(members, func(m member) bool { return m.name == f.name })
		if i < 0 {
			d.addAt(f.at, path, "there is no %.64q here, want %s", f.name, nearest(f.name, members))
			continue
		}
		present[f.name] = true
		at := strings.TrimPrefix(path+"."+f.name, ".")
		d.places[at] = f.value.at
		if f.value.value == nil {
			d.add(at, "null says nothing, want a value, or no %q at all", f.name)
			continue
		}
		members[i].read(f.value, at)
	}
	for _, name := range required {
		if !present[name] {
			d.add(strings.TrimPrefix(path+"."+name, "."), "it is missing")
		}
	}
}

// unique returns the fields of an object, the first of each name.
func (d *decoder) unique(n *node, path string) []field {
	seen := make(map[string]bool)
	var all []field
	for _, f := range n.fields {
		if seen[f.name] {
			d.addAt(f.at, path, "%.64q stands there already, want it once", f.name)
			continue
		}
		seen[f.name] = true
		all = append(all, f)
	}
	return all
}

// nearest returns what somebody may have meant by an unknown name.
func nearest(name string, members []member) string {
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
	}
	names := make([]string, len(members))
	for i, m := range members {
		if plain(m.name) == plain(name) {
			return strconv.Quote(m.name)
		}
		names[i] = m.name
	}
	return "one of " + quoted(names)
}

func quoted(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = strconv.Quote(name)
	}
	return strings.Join(all, ", ")
}

// listed continues a sentence about what is not among known.
func listed[T any](known map[string]T) string {
	if len(known) == 0 {
		return ", which is empty"
	}
	return ", which has " + quoted(slices.Sorted(maps.Keys(known)))
}

func (d *decoder) text(into *string) func(*node, string) {
	return func(n *node, path string) {
		text, ok := n.value.(string)
		if !ok {
			d.add(path, "it is %s, want a text", n.is())
		}
		*into = text
	}
}

func (d *decoder) truth(into *bool) func(*node, string) {
	return func(n *node, path string) {
		truth, ok := n.value.(bool)
		if !ok {
			d.add(path, "it is %s, want true or false", n.is())
		}
		*into = truth
	}
}

// unmarshal reads a value that has a text.
func (d *decoder) unmarshal(into encoding.TextUnmarshaler) func(*node, string) {
	return func(n *node, path string) {
		text, ok := n.value.(string)
		if !ok {
			d.add(path, "it is %s, want a text", n.is())
			return
		}
		if err := into.UnmarshalText([]byte(text)); err != nil {
			d.add(path, "%s", plainReason(err.Error()))
		}
	}
}

// plainReason returns the text of an error as a policy has it: without the package that it comes from, and with the
// names of a policy's fields.
func plainReason(text string) string {
	return strings.NewReplacer(
		"limiter: ", "", "httplimit: ", "", "Rules[", "rules[", "Shadow is", "shadow is", "Shadow too", "shadow too",
		"Shadow refuses", "shadow refuses", "InFlight is", "inFlight is", "CountStatus", "countStatus",
		"Key is the same", "the key is the same",
	).Replace(text)
}

// number reads a whole number from least to most.
func number[T int | int64](d *decoder, into *T, least, most T) func(*node, string) {
	return func(n *node, path string) {
		literal, ok := n.value.(json.Number)
		if !ok {
			d.add(path, "it is %s, want a number from %d to %d", n.is(), least, most)
			return
		}
		whole, err := strconv.ParseInt(literal.String(), 10, 64)
		if err != nil || whole < int64(least) || whole > int64(most) {
			d.add(path, "it is %.32s, want a whole number from %d to %d", literal, least, most)
			return
		}
		*into = T(whole)
	}
}

// list reads the items of a list, which has at least least of them.
func list[T any](d *decoder, into *[]T, least int, read func(*node, string) T) func(*node, string) {
	return func(n *node, path string) {
		if n.value != json.Delim('[') {
			d.add(path, "it is %s, want a list", n.is())
			return
		}
		if len(n.items) < least {
			d.add(path, "it is empty, want at least one, or no such name")
		}
		for i, item := range n.items {
			at := fmt.Sprintf("%s[%d]", path, i)
			d.places[at] = item.at
			*into = append(*into, read(item, at))
		}
	}
}
