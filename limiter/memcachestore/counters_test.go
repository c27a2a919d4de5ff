package memcachestore

import (
	"testing"
	"time"
)

func TestExpiration(t *testing.T) {
	now := time.Unix(1_800_000_000, 999_999_999)
	for _, tc := range []struct {
		now  time.Time
		ttl  time.Duration
		want int32
	}{
		{now, time.Nanosecond, 2},
		{now, time.Second, 2},
		{now, 2*time.Second + 1, 4},
		{now, longestRelative - time.Second, 2_592_000},
		{now, longestRelative - time.Second + 1, 1_800_000_000 + 2_592_001 + 1},
		{now, 732 * 24 * time.Hour, 1_800_000_000 + 732*86_400 + 2},
		{time.Unix(2_147_000_000, 0), 732 * 24 * time.Hour, 0}, // past the client's last date
	} {
		if got := expiration(tc.now, tc.ttl); got != tc.want {
			t.Errorf("%v at %d: got %d, want %d", tc.ttl, tc.now.Unix(), got, tc.want)
		}
	}
}
