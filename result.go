package httplimit

import (
	"fmt"
	"slices"
)

// Result is what became of a request by one rule.
type Result uint8

const (
	// ResultUnjudged: another rule settled the matter before this one was asked. The request was refused from memory (by
	// a deny cache, or a limit of 0), or answered 503.
	ResultUnjudged Result = iota
	// ResultAllowed: by this rule. Another one may have refused the request.
	ResultAllowed
	// ResultRefused: 429.
	ResultRefused
	// ResultShadowRefused: the rule would have refused the request if it were not Shadow, or were in force for this
	// client (see Rule.Percent).
	ResultShadowRefused
	// ResultBanned: 429, because the client is banned.
	ResultBanned
	// ResultOpen: passed undecided, since the store could not decide. Another rule may have refused the request.
	ResultOpen
	// ResultClosed: 503, since the store could not decide.
	ResultClosed
)

var resultNames = []string{"unjudged", "allowed", "refused", "shadow_refused", "banned", "open", "closed"}

// String returns the name of the result, such as "shadow_refused", which is fit for a metric's label.
func (r Result) String() string { return nameOf(r, resultNames...) }

// MarshalText implements [encoding.TextMarshaler]: it is String.
func (r Result) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. It takes the names that String returns.
func (r *Result) UnmarshalText(text []byte) error {
	i := slices.Index(resultNames, string(text))
	if i < 0 {
		return fmt.Errorf("httplimit: %.32q is no result, want one of %q", text, resultNames)
	}
	*r = Result(i)
	return nil
}
