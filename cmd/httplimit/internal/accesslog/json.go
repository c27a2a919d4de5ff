package accesslog

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"
)

var errJSON = errors.New("it is no JSON object")

// unmarshal reads the one object that a line is.
func unmarshal(line string, into any) error {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "{") {
		return errJSON
	}
	if err := json.Unmarshal([]byte(line), into); err != nil {
		return errJSON
	}
	return nil
}

// text is a value of JSON as a log would write it without quotes: strings, numbers and booleans; "" for all else. Of an
// array it is the first one.
type text string

func (t *text) UnmarshalJSON(raw []byte) error {
	*t = ""
	switch {
	case len(raw) == 0, raw[0] == 'n', raw[0] == '{':
	case raw[0] == '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		*t = text(s)
	case raw[0] == '[':
		var all []text
		if err := json.Unmarshal(raw, &all); err == nil && len(all) > 0 {
			*t = all[0]
		}
	default:
		*t = text(raw)
	}
	return nil
}

// headerText is a header of net/http's: names with lists of lines, or with one line each.
type headerText map[string]lines

type lines []string

func (l *lines) UnmarshalJSON(raw []byte) error {
	var all []string
	if err := json.Unmarshal(raw, &all); err == nil {
		*l = all
		return nil
	}
	var one text
	err := json.Unmarshal(raw, &one)
	if one != "" {
		*l = lines{string(one)}
	}
	return err
}

// jsonLines reads one JSON object a line, whose members have the names that servers have for them, or those of a Map.
// Members of objects are found by their own name and by that with dots before it.
type jsonLines struct{ names names }

func (f jsonLines) parse(line string, e *Entry) error {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "{") {
		return errJSON
	}
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	var found found
	var members map[string]any
	if err := d.Decode(&members); err != nil {
		return errJSON
	}
	if _, err := d.Token(); err != io.EOF {
		return errJSON
	}
	if err := f.walk(e, &found, "", members, 0); err != nil {
		return err
	}
	return found.check(e)
}

// maxDepth is how deep jsonLines looks into objects. Logs nest two or three.
const maxDepth = 5

func (f jsonLines) walk(e *Entry, found *found, prefix string, members map[string]any, depth int) error {
	for _, name := range sortedNames(members) { // in a fixed order: two names for one thing are told apart by it
		value := members[name]
		p := f.names.of(prefix + name)
		if p == "" && prefix != "" {
			if _, own := f.names.own[name]; !own {
				p = f.names.of(name)
			}
		}
		var err error
		switch v := value.(type) {
		case string:
			err = setPart(e, found, p, v)
		case json.Number:
			err = setPart(e, found, p, v.String())
		case []any:
			if s, ok := first(v); ok {
				err = setPart(e, found, p, s)
			}
		case map[string]any:
			if strings.EqualFold(name, "headers") || strings.EqualFold(name, "request_headers") {
				addHeaders(e, v)
			} else if depth < maxDepth {
				err = f.walk(e, found, prefix+name+".", v, depth+1)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func addHeaders(e *Entry, fields map[string]any) {
	for _, name := range sortedNames(fields) {
		switch v := fields[name].(type) {
		case string:
			e.add(name, v)
		case []any:
			for i := range v {
				if s, ok := v[i].(string); ok {
					e.add(name, s)
				}
			}
		}
	}
}

func first(all []any) (string, bool) {
	if len(all) == 0 {
		return "", false
	}
	s, ok := all[0].(string)
	return s, ok
}

// hostOf returns the host of an absolute URL; "" of a path.
func hostOf(target string) string {
	if !strings.Contains(target, "://") {
		return ""
	}
	u, err := url.Parse(target)
	if err != nil {
		_, rest, _ := strings.Cut(target, "://")
		host, _, _ := strings.Cut(rest, "/")
		return host
	}
	return u.Host
}

// isArray reports whether a log is one array, or an object over several lines, as gcloud and jq write them.
func isArray(head []byte) bool {
	head = bytes.TrimSpace(head)
	return bytes.HasPrefix(head, []byte("[{")) || bytes.HasPrefix(head, []byte("[\n")) ||
		bytes.HasPrefix(head, []byte("[\r\n")) || bytes.HasPrefix(head, []byte("{\n")) ||
		bytes.HasPrefix(head, []byte("{\r\n"))
}
