package httplimit

import (
	"fmt"
	"slices"
	"strings"
)

// headerStyleNames are the names of the bits of a HeaderStyle, from the lowest.
var headerStyleNames = []string{
	"ratelimit", "ratelimit-draft-07", "ratelimit-draft-06", "x-ratelimit-epoch", "x-ratelimit-delta", "none",
}

// String returns the name of the style: "ratelimit" for RateLimitFields and for zero, "ratelimit-draft-07",
// "ratelimit-draft-06", "x-ratelimit-epoch", "x-ratelimit-delta", and "none" for NoHeaders. Those of a set are joined
// by " + ".
func (s HeaderStyle) String() string {
	if s == 0 {
		s = RateLimitFields
	}
	var names []string
	for i, name := range headerStyleNames {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if unknown := s >> len(headerStyleNames); unknown != 0 {
		names = append(names, "unknown")
	}
	return strings.Join(names, " + ")
}

// MarshalText implements [encoding.TextMarshaler]: it is String, or an error if s is not a style that [New] takes.
func (s HeaderStyle) MarshalText() ([]byte, error) {
	if _, err := s.resolve(); err != nil {
		return nil, fmt.Errorf("httplimit: HeaderStyle(%d): %w", uint16(s), err)
	}
	return []byte(s.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler]. It takes what String returns, the names of a set in any order.
// After an error s is as it was.
func (s *HeaderStyle) UnmarshalText(text []byte) error {
	var set HeaderStyle
	for name := range strings.SplitSeq(string(text), " + ") {
		i := slices.Index(headerStyleNames, name)
		if i < 0 {
			return fmt.Errorf("httplimit: %.32q is no style of header fields, want one of %q, or two of them joined by %q",
				name, headerStyleNames, " + ")
		}
		if set&(1<<i) != 0 {
			return fmt.Errorf("httplimit: the style %q stands there twice, want it once", name)
		}
		set |= 1 << i
	}
	if _, err := set.resolve(); err != nil {
		return fmt.Errorf("httplimit: %q: %w", text, err)
	}
	*s = set
	return nil
}
