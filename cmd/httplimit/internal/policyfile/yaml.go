package policyfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/httplimit/httplimit/policy"
)

// parseYAML is policy.Parse for YAML: the text is written as JSON, in which each name and each value begins a line, so
// that a line of the JSON tells the place in the YAML.
func parseYAML(text []byte) (*policy.Policy, error) {
	root, err := document(text)
	if err != nil {
		return nil, err
	}
	w := writer{places: []place{{root.Line, root.Column}}}
	if err := w.value(root, 0); err != nil {
		return nil, err
	}
	p, err := policy.Parse(w.json.Bytes())
	for _, fault := range policy.Faults(err) {
		if i := fault.Line - 1; i >= 0 && i < len(w.places) {
			fault.Line, fault.Column = w.places[i].line, w.places[i].column
		}
	}
	return p, err
}

// document returns the one document of a text.
func document(text []byte) (*yaml.Node, error) {
	var first, second yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	err := d.Decode(&first)
	if errors.Is(err, io.EOF) || err == nil && len(first.Content) == 0 {
		return nil, &policy.Fault{Line: 1, Column: 1, Reason: "it is empty, want a policy: rules: [...]"}
	}
	if err == nil {
		if err = d.Decode(&second); errors.Is(err, io.EOF) {
			return first.Content[0], nil
		}
	}
	if err != nil {
		return nil, syntaxFault(err)
	}
	return nil, &policy.Fault{Line: second.Line, Column: second.Column, Reason: "a second document begins here, want one"}
}

var syntaxLine = regexp.MustCompile(`^yaml: line (\d+): `)

// syntaxFault returns an error of the library with its line as a place. It does not tell columns.
func syntaxFault(err error) error {
	text := err.Error()
	f := &policy.Fault{Line: 1, Column: 1, Reason: "it is not YAML: " + text}
	if m := syntaxLine.FindStringSubmatch(text); m != nil {
		f.Line, _ = strconv.Atoi(m[1])
		f.Reason = "it is not YAML: " + text[len(m[0]):]
	}
	return f
}

type place struct{ line, column int }

const (
	mostDepth = 32      // a policy has 5
	mostNodes = 100_000 // a short text of anchors can be a very long one
)

// writer writes nodes as JSON.
type writer struct {
	json   bytes.Buffer
	places []place // of each line of the JSON
	nodes  int
}

// begin begins a line of the JSON for something in the YAML.
func (w *writer) begin(n *yaml.Node) {
	w.json.WriteByte('\n')
	w.places = append(w.places, place{n.Line, n.Column})
}

func faultAt(n *yaml.Node, format string, args ...any) error {
	return &policy.Fault{Line: n.Line, Column: n.Column, Reason: fmt.Sprintf(format, args...)}
}

func (w *writer) value(n *yaml.Node, depth int) error {
	if w.nodes++; depth > mostDepth || w.nodes > mostNodes {
		return faultAt(n, "it goes deeper, or on for longer, than any policy: does an anchor contain itself?")
	}
	switch n.Kind {
	case yaml.AliasNode:
		return w.value(n.Alias, depth+1)
	case yaml.MappingNode:
		return w.mapping(n, depth)
	case yaml.SequenceNode:
		w.json.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				w.json.WriteByte(',')
			}
			w.begin(item)
			if err := w.value(item, depth+1); err != nil {
				return err
			}
		}
		w.json.WriteByte(']')
		return nil
	}
	w.json.Write(scalar(n))
	return nil
}

func (w *writer) mapping(n *yaml.Node, depth int) error {
	w.json.WriteByte('{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		switch {
		case name.Kind != yaml.ScalarNode:
			return faultAt(name, "a name is a text, want neither a list nor a mapping nor an alias")
		case name.ShortTag() == "!!merge":
			return faultAt(name, "<< is not read here, want each value as such, or an alias of it")
		}
		if i > 0 {
			w.json.WriteByte(',')
		}
		w.begin(name)
		w.json.Write(quote(name.Value))
		w.json.WriteByte(':')
		w.begin(value)
		if err := w.value(value, depth+1); err != nil {
			return err
		}
	}
	w.json.WriteByte('}')
	return nil
}

var octal = regexp.MustCompile(`^[+-]?0[0-9_]+$`)

// scalar returns the JSON of a text, a number, true, false or null.
func scalar(n *yaml.Node) []byte {
	var whole int64
	var truth bool
	switch n.ShortTag() {
	case "!!null":
		return []byte("null")
	case "!!bool":
		if n.Decode(&truth) == nil {
			return strconv.AppendBool(nil, truth)
		}
	case "!!int":
		if octal.MatchString(n.Value) {
			break // 8 to some readers of YAML and 10 to others
		}
		if n.Decode(&whole) == nil {
			return strconv.AppendInt(nil, whole, 10)
		}
		fallthrough
	case "!!float":
		if json.Valid([]byte(n.Value)) {
			return []byte(n.Value)
		}
	}
	return quote(n.Value)
}

func quote(text string) []byte {
	quoted, _ := json.Marshal(text) // of a string there is no error
	return quoted
}
