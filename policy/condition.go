package policy

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Condition says which requests a rule is for. Its text is a pattern as [http.ServeMux] has it, "POST /login",
// "/export/" or "api.example.com/v1/{account}/orders", or "name:NAME" for a function of the program's, from Names.When.
//
// A pattern matches more requests than a router's would, so that no spelling which a router forgives gets around a
// rule: case makes no difference, nor do a trailing slash, doubled slashes, dot segments, backslashes, parameters
// behind a semicolon, and letters that are percent-encoded, also several times over. As for http.ServeMux, "GET" is
// HEAD too, "{name}" is one segment, "{name...}" and a slash at the end are all that begins so. "/export/" matches
// "/export" too; "/export" and "/export/{$}" match "/export/" and nothing below.
type Condition struct {
	text    string
	pattern *pattern // nil: a name
}

const namePrefix = "name:"

// ParseCondition reads the text of a condition.
func ParseCondition(text string) (Condition, error) {
	if name, named := strings.CutPrefix(text, namePrefix); named && !strings.Contains(name, "/") {
		if !isName(name) {
			return Condition{}, nameFault(name)
		}
		return Condition{text: text}, nil
	}
	p, err := parsePattern(text)
	if err != nil {
		return Condition{}, fmt.Errorf("%.128q is no pattern: %w", text, err)
	}
	return Condition{text: text, pattern: p}, nil
}

// Name returns the name in Names.When; "" for a pattern.
func (c Condition) Name() string {
	if c.pattern != nil {
		return ""
	}
	return strings.TrimPrefix(c.text, namePrefix)
}

// String returns the text that [ParseCondition] reads.
func (c Condition) String() string { return c.text }

// MarshalText implements [encoding.TextMarshaler]: it is String.
func (c Condition) MarshalText() ([]byte, error) {
	if c.text == "" {
		return nil, errors.New("policy: the zero Condition has no text, want one made by ParseCondition")
	}
	return []byte(c.text), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler]: it is [ParseCondition]. After an error c is as it was.
func (c *Condition) UnmarshalText(text []byte) error {
	parsed, err := ParseCondition(string(text))
	if err == nil {
		*c = parsed
	}
	return err
}

// applies returns the condition in Go. Its error names what is not in named.
func (c Condition) applies(named map[string]func(*http.Request) bool) (func(*http.Request) bool, error) {
	if c.pattern != nil {
		return c.pattern.matches, nil
	}
	if when := named[c.Name()]; when != nil {
		return when, nil
	}
	return nil, unknownName("When", c.Name(), named)
}
