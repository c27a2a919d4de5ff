package limiter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Milliseconds is a duration as the JSON of this module has it: a number of whole milliseconds, rounded up, and null
// for [Never]. So scripts can add it to Date.now() or hand it to setTimeout, and no number is beyond what they hold
// exactly. What is below 0 is written as 0.
type Milliseconds time.Duration

// MarshalJSON implements [json.Marshaler].
func (d Milliseconds) MarshalJSON() ([]byte, error) {
	if time.Duration(d) == Never {
		return []byte("null"), nil
	}
	ms := int64(max(0, d)) / int64(time.Millisecond)
	if int64(d)%int64(time.Millisecond) > 0 {
		ms = min(ms+1, maxMilliseconds)
	}
	return strconv.AppendInt(nil, ms, 10), nil
}

// maxMilliseconds is the longest Duration that is not Never.
const maxMilliseconds = math.MaxInt64 / int64(time.Millisecond)

// UnmarshalJSON implements [json.Unmarshaler]. Null is Never.
func (d *Milliseconds) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		*d = Milliseconds(Never)
		return nil
	}
	var ms int64
	if err := json.Unmarshal(text, &ms); err != nil {
		return err
	}
	if ms < 0 || ms > maxMilliseconds {
		return fmt.Errorf("limiter: %d ms is no duration, want 0 to %d, or null for never", ms, maxMilliseconds)
	}
	*d = Milliseconds(time.Duration(ms) * time.Millisecond)
	return nil
}
