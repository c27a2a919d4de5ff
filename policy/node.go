package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// node is a value of a JSON text, with the place where it begins.
type node struct {
	at     place
	value  any // string, json.Number, bool or nil; of an object and a list their delimiter: json.Delim
	fields []field
	items  []*node
}

// field is a name of an object and its value.
type field struct {
	at    place // of the name
	name  string
	value *node
}

// is returns what kind of value the node is, as a sentence has it.
func (n *node) is() string {
	switch v := n.value.(type) {
	case string:
		return "a text"
	case json.Number:
		return "a number"
	case bool:
		return "true or false"
	case json.Delim:
		if v == '{' {
			return "an object"
		}
		return "a list"
	}
	return "null"
}

// read returns the tree of a JSON text, or the fault that keeps it from being one.
func read(text []byte) (*node, *Fault) {
	r := reader{text: text, at: place{1, 1}}
	r.offset = len(text) - len(bytes.TrimPrefix(text, []byte("\ufeff"))) // a byte order mark, as some editors write it
	if fault := r.check(); fault != nil {
		return nil, fault
	}
	r.first = r.offset
	r.tokens = json.NewDecoder(bytes.NewReader(text[r.offset:]))
	r.tokens.UseNumber()
	return r.value(), nil
}

// reader reads nodes and keeps count of lines and columns.
type reader struct {
	text   []byte
	tokens *json.Decoder
	first  int   // the offset of what tokens reads
	offset int   // up to here lines and columns are counted
	at     place // of the byte at offset
}

// check returns the fault of a text that is not JSON.
func (r *reader) check() *Fault {
	rest := r.text[r.offset:]
	if !utf8.Valid(rest) {
		i := bytes.IndexFunc(rest, func(c rune) bool { return c == utf8.RuneError })
		for _, size := utf8.DecodeRune(rest[i:]); size > 1; _, size = utf8.DecodeRune(rest[i:]) {
			i += size + bytes.IndexFunc(rest[i+size:], func(c rune) bool { return c == utf8.RuneError })
		}
		return r.faultAt(r.offset+i, "it is not UTF-8 from here on")
	}
	if len(bytes.TrimSpace(rest)) == 0 {
		return r.faultAt(r.offset, `it is empty, want a policy: {"rules": [...]}`)
	}
	var all json.RawMessage
	err := json.Unmarshal(rest, &all)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return r.faultAt(r.offset+max(0, int(syntax.Offset)-1), "it is not JSON: "+syntax.Error())
	}
	if err != nil {
		return r.faultAt(r.offset, "it is not JSON: "+err.Error())
	}
	return nil
}

func (r *reader) faultAt(offset int, reason string) *Fault {
	r.advance(offset)
	return &Fault{Line: r.at.line, Column: r.at.column, Reason: reason}
}

// advance counts lines and columns up to an offset.
func (r *reader) advance(offset int) {
	passed := r.text[r.offset:min(offset, len(r.text))]
	if i := bytes.LastIndexByte(passed, '\n'); i >= 0 {
		r.at.line += bytes.Count(passed, []byte("\n"))
		r.at.column = 1
		passed = passed[i+1:]
	}
	r.at.column += utf8.RuneCount(passed)
	r.offset = max(r.offset, offset)
}

// next returns the next token and where it begins. The text is known to be JSON.
func (r *reader) next() (json.Token, place) {
	begin := r.first + int(r.tokens.InputOffset())
	for begin < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[begin]) >= 0 {
		begin++
	}
	r.advance(begin)
	token, _ := r.tokens.Token()
	return token, r.at
}

// value reads a value.
func (r *reader) value() *node {
	token, at := r.next()
	n := &node{at: at, value: token}
	switch token {
	case json.Delim('{'):
		for r.tokens.More() {
			name, at := r.next()
			text, _ := name.(string)
			n.fields = append(n.fields, field{at, text, r.value()})
		}
		r.next()
	case json.Delim('['):
		for r.tokens.More() {
			n.items = append(n.items, r.value())
		}
		r.next()
	}
	return n
}
