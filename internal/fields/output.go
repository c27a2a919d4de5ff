package fields

import (
	"iter"
	"strings"
)

// value returns the value of a field. text is b.text as a string.
func (b *Builder) value(f *field, text string) string {
	switch {
	case f.from >= 0:
		return text[f.from:f.to]
	case f.name == namePolicy:
		return b.all.Field
	}
	return NoStore
}

// All returns the fields with names in net/http's canonical form.
func (b *Builder) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		text := b.arena.text(b.text)
		for i := range b.fields {
			f := &b.fields[i]
			if !yield(fieldNames[f.name], b.value(f, text)) {
				return
			}
		}
	}
}

// Each calls set for each field, for frameworks that copy what they are given: value is overwritten later. isList says
// that the field is to be added to the lines of other layers, and not to replace them.
func (b *Builder) Each(set func(name string, value []byte, isList bool)) {
	for i := range b.fields {
		f := &b.fields[i]
		from, to := f.from, f.to
		if from < 0 {
			from = int32(len(b.text))
			b.text = append(b.text, b.value(f, "")...)
			to = int32(len(b.text))
		}
		// Clipped, so that bytes which set appends do not reach the next value.
		set(fieldNames[f.name], b.text[from:to:to], f.name.isList())
	}
}

// SetIn sets the fields in h, which has the form of net/http's Header. Lists are added to the lines that h has. Every
// value gets a slice of its own, because later handlers may write into it.
func (b *Builder) SetIn(h map[string][]string) {
	if len(b.fields) == 0 {
		return
	}
	text, values := b.arena.text(b.text), b.arena.values(len(b.fields))
	others := len(h) > 0
	for i := range b.fields {
		f := &b.fields[i]
		name := fieldNames[f.name]
		if f.from >= 0 {
			values[i] = text[f.from:f.to]
		} else {
			values[i] = b.value(f, "")
		}
		if others && f.name.isList() {
			if lines := h[name]; len(lines) > 0 {
				h[name] = append(lines[:len(lines):len(lines)], values[i])
				continue
			}
		}
		h[name] = values[i : i+1 : i+1]
	}
}

// Value returns a slice of one value for a field that the caller sets itself.
func (b *Builder) Value(value string) []string {
	values := b.arena.values(1)
	values[0] = value
	return values
}

// arena holds the values of the next few answers, which together cost two allocations instead of two each. A handler
// that runs for hours keeps its arena in memory, so it is small: half a kilobyte of text and of values. No two answers
// share an element.
type arena struct {
	texts strings.Builder // never writes again to what it has handed out
	slots []string
	used  int // of slots
}

const (
	arenaTexts  = 512 // bytes
	arenaValues = 32  // of 16 bytes
)

// text returns b as a string.
func (a *arena) text(b []byte) string {
	if a.texts.Cap()-a.texts.Len() < len(b) {
		a.texts.Reset()
		a.texts.Grow(max(len(b), arenaTexts))
	}
	from := a.texts.Len()
	a.texts.Write(b)
	return a.texts.String()[from:]
}

// values returns a slice of n elements without capacity beyond them.
func (a *arena) values(n int) []string {
	if a.used+n > len(a.slots) {
		a.slots, a.used = make([]string, max(n, arenaValues)), 0
	}
	from := a.used
	a.used += n
	return a.slots[from:a.used:a.used]
}
