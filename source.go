package httplimit

import (
	"fmt"
	"slices"
)

// Source is who decided.
type Source uint8

const (
	SourceNone  Source = iota // nobody: the Result is ResultUnjudged, ResultOpen or ResultClosed
	SourceStore               // the store; also where a limit of 0 only would refuse, in shadow or for a look
	SourceCache               // the store from memory, without asking its server: its deny cache, or by a limit of 0
	SourceLocal               // this process, with its share of the limit, by FailLocal
)

var sourceNames = []string{"none", "store", "cache", "local"}

// String returns the name of the source, "none", "store", "cache" or "local", which is fit for a metric's label.
func (s Source) String() string { return nameOf(s, sourceNames...) }

// MarshalText implements [encoding.TextMarshaler]: it is String.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. It takes the names that String returns.
func (s *Source) UnmarshalText(text []byte) error {
	i := slices.Index(sourceNames, string(text))
	if i < 0 {
		return fmt.Errorf("httplimit: %.32q is no source, want one of %q", text, sourceNames)
	}
	*s = Source(i)
	return nil
}

func nameOf[T ~uint8](i T, names ...string) string {
	if int(i) < len(names) {
		return names[i]
	}
	return "unknown"
}
