package limiter

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// units are ordered from the largest down, so that String finds the largest that divides a window.
var units = [...]struct {
	name   string
	length time.Duration
}{
	{"d", 24 * time.Hour},
	{"h", time.Hour},
	{"m", time.Minute},
	{"s", time.Second},
	{"ms", time.Millisecond},
}

var errGrammar = errors.New(`want N/[N]unit [algorithm] [burst=N], such as "100/m", "5/15s", ` +
	`"20/s token-bucket burst=40"; units are ms, s, m, h and d`)

// ParseLimit reads a limit from text:
//
//	N "/" [N] unit [" " algorithm] [" burst=" N]
//
// where unit is ms, s, m (minute), h or d, and algorithm is sliding-window (the default), sliding-log,
// fixed-window, token-bucket or strict-window. Numbers are decimal without a sign; words are lower case, with single
// spaces between them. Examples: "100/m", "5/15s", "20/s token-bucket burst=40", "10/h sliding-log", "0/m" (nothing
// passes).
//
// The result is valid: ParseLimit returns the error of [Limit.Validate] if it is not.
func ParseLimit(s string) (Limit, error) {
	l, err := parse(s)
	if err != nil {
		return Limit{}, fmt.Errorf("limiter: cannot read limit %q: %w", clip(s), err)
	}
	if err := l.Validate(); err != nil {
		return Limit{}, fmt.Errorf("limiter: cannot use limit %q: %w", clip(s), err)
	}
	return l, nil
}

func parse(s string) (l Limit, err error) {
	rate, rest, more := strings.Cut(s, " ")
	requests, window, ok := strings.Cut(rate, "/")
	if !ok {
		return l, errGrammar
	}
	if l.Requests, err = parseNumber(requests); err != nil {
		return l, err
	}
	if l.Window, err = parseWindow(window); err != nil {
		return l, err
	}
	if !more {
		return l, nil
	}
	if word, tail, more := strings.Cut(rest, " "); !strings.HasPrefix(word, "burst=") {
		if l.Algorithm, err = parseAlgorithm(word); err != nil {
			return l, err
		}
		if !more {
			return l, nil
		}
		rest = tail
	}
	burst, ok := strings.CutPrefix(rest, "burst=")
	if !ok {
		return l, errGrammar
	}
	if l.Burst, err = parseNumber(burst); err == nil && l.Burst == 0 {
		err = errors.New("burst=0 says nothing: leave it out")
	}
	return l, err
}

func parseAlgorithm(word string) (Algorithm, error) {
	for a, name := range algorithmNames {
		if name == word {
			return Algorithm(a), nil
		}
	}
	return 0, fmt.Errorf("unknown algorithm %q, there are %s: %w", clip(word), strings.Join(algorithmNames[:], ", "),
		errGrammar)
}

func parseWindow(s string) (time.Duration, error) {
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	n := int64(1)
	if digits > 0 {
		var err error
		if n, err = parseNumber(s[:digits]); err != nil {
			return 0, err
		}
	}
	for _, u := range units {
		if u.name != s[digits:] {
			continue
		}
		if n > int64(maxWindow/u.length) {
			return 0, fmt.Errorf("a window of %d%s is longer than 366 days", n, u.name)
		}
		return time.Duration(n) * u.length, nil
	}
	return 0, fmt.Errorf("unknown unit %q: %w", clip(s[digits:]), errGrammar)
}

// parseNumber reads a decimal number without a sign, which strconv would accept.
func parseNumber(s string) (int64, error) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, fmt.Errorf("%q is no decimal number: %w", clip(s), errGrammar)
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s is too large a number", clip(s))
	case err != nil:
		return 0, errGrammar
	}
	return n, nil
}

// clip cuts hostile input, which could fill a log, to a length that an error may quote.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// String writes l as [ParseLimit] reads it, with the largest unit that divides the window and without defaults.
func (l Limit) String() string {
	b := strconv.AppendInt(nil, l.Requests, 10)
	b = append(b, '/')
	b = appendWindow(b, l.Window)
	if l.Algorithm != SlidingWindow {
		b = append(b, ' ')
		b = append(b, l.Algorithm.String()...)
	}
	if l.Burst != 0 {
		b = append(b, " burst="...)
		b = strconv.AppendInt(b, l.Burst, 10)
	}
	return string(b)
}

func appendWindow(b []byte, w time.Duration) []byte {
	for _, u := range units {
		if w <= 0 || w%u.length != 0 {
			continue
		}
		if n := int64(w / u.length); n != 1 {
			b = strconv.AppendInt(b, n, 10)
		}
		return append(b, u.name...)
	}
	return append(b, w.String()...) // not a valid window; for messages only
}

// MarshalText returns what [Limit.String] does, or the error of [Limit.Validate].
func (l Limit) MarshalText() ([]byte, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	return []byte(l.String()), nil
}

// UnmarshalText reads what [ParseLimit] reads. After an error l is as it was.
func (l *Limit) UnmarshalText(text []byte) error {
	parsed, err := ParseLimit(string(text))
	if err != nil {
		return err
	}
	*l = parsed
	return nil
}
