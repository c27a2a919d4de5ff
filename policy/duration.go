package policy

import (
	"fmt"
	"strings"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// Duration is a time as a policy has it: a number and a unit, ms, s, m, h or d, such as "10m"; 366 days at most.
type Duration time.Duration

// String returns the duration with the largest unit that divides it.
func (d Duration) String() string {
	// A window is written the same way, but for a 1.
	text := strings.TrimPrefix(limiter.Per(1, time.Duration(d)).String(), "1/")
	if text[0] >= 'a' {
		text = "1" + text
	}
	return text
}

// MarshalText implements [encoding.TextMarshaler]: it is String, or an error if d is not 1 ms to 366 days.
func (d Duration) MarshalText() ([]byte, error) {
	if err := limiter.Per(1, time.Duration(d)).Validate(); err != nil {
		return nil, fmt.Errorf("policy: %v is not whole milliseconds, 1ms to 366d", time.Duration(d))
	}
	return []byte(d.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler]. It reads what String writes. After an error d is as it was.
func (d *Duration) UnmarshalText(text []byte) error {
	limit, err := limiter.ParseLimit("1/" + string(text))
	if err != nil || text[0] > '9' || limit != limiter.Per(1, limit.Window) {
		return fmt.Errorf(
			`%.32q is no duration, want a number and a unit, ms, s, m, h or d, such as "10m"; 1ms to 366d`, text)
	}
	*d = Duration(limit.Window)
	return nil
}

func (d Duration) std() time.Duration { return time.Duration(d) }
