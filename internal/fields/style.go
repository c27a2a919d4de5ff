package fields

// Style is a set of header styles: at most one of RateLimit, Draft07 and Draft06, and at most one of XEpoch and XDelta.
// The bits are those of httplimit.HeaderStyle, where the next one is NoHeaders.
type Style uint16

const (
	RateLimit Style = 1 << iota // draft-ietf-httpapi-ratelimit-headers-08 to -11: every policy by name
	Draft07                     // draft 07: RateLimit: limit=100, remaining=99, reset=60
	Draft06                     // drafts 04 to 06: RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset
	XEpoch                      // X-RateLimit-*, Reset as Unix time in seconds
	XDelta                      // X-RateLimit-*, Reset in seconds from now
)

// fieldName is an index of fieldNames, which keeps a field under construction free of pointers.
type fieldName int32

const (
	namePolicy fieldName = iota
	nameRateLimit
	nameLimit
	nameRemaining
	nameReset
	nameXLimit
	nameXRemaining
	nameXReset
	nameRetryAfter
	nameCacheControl
)

// fieldNames are in net/http's canonical form.
var fieldNames = [...]string{
	namePolicy:       "Ratelimit-Policy",
	nameRateLimit:    "Ratelimit",
	nameLimit:        "Ratelimit-Limit",
	nameRemaining:    "Ratelimit-Remaining",
	nameReset:        "Ratelimit-Reset",
	nameXLimit:       "X-Ratelimit-Limit",
	nameXRemaining:   "X-Ratelimit-Remaining",
	nameXReset:       "X-Ratelimit-Reset",
	nameRetryAfter:   "Retry-After",
	nameCacheControl: "Cache-Control",
}

// isList reports whether a field is a list to which every layer adds lines of its own.
func (n fieldName) isList() bool { return n == namePolicy || n == nameRateLimit }

// Names returns the fields that s can send, Retry-After included, spelled as in their specifications.
func (s Style) Names() []string {
	var names []string
	switch {
	case s&(RateLimit|Draft07) != 0:
		names = append(names, "RateLimit", "RateLimit-Policy")
	case s&Draft06 != 0:
		names = append(names, "RateLimit-Limit", "RateLimit-Policy", "RateLimit-Remaining", "RateLimit-Reset")
	}
	if s&(XEpoch|XDelta) != 0 {
		names = append(names, "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
	}
	return append(names, fieldNames[nameRetryAfter])
}
