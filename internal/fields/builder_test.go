package fields

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

var twoPolicies = &Policies{
	Names: []string{Quote("burst"), Quote(`a "day"`)},
	Field: `"burst";q=5;w=10, "a \"day\"";q=100;w=86400`,
}

// standings are those of a client with some of each quota left or, if it is refused, without any of the first.
func standings(refused bool) []Standing {
	list := []Standing{
		{Policy: 0, Quota: 5, Window: 10 * time.Second, Remaining: 3, ResetAfter: 9500 * time.Millisecond},
		{Policy: 1, Quota: 100, Window: 24 * time.Hour, Remaining: 40, ResetAfter: time.Hour},
	}
	if refused {
		list[0].Violated, list[0].Remaining, list[0].RetryAfter = true, 0, 2100*time.Millisecond
	}
	return list
}

func TestStyles(t *testing.T) {
	tests := map[string]struct {
		style          Style
		usual, refused bool
		want           []string
	}{
		"RateLimit": {RateLimit, false, false, []string{
			`Ratelimit-Policy: "burst";q=5;w=10, "a \"day\"";q=100;w=86400`,
			`Ratelimit: "burst";r=3;t=10, "a \"day\"";r=40;t=3600`,
		}},
		"RateLimit with the usual policies": {RateLimit, true, false, []string{
			`Ratelimit-Policy: "burst";q=5;w=10, "a \"day\"";q=100;w=86400`,
			`Ratelimit: "burst";r=3;t=10, "a \"day\"";r=40;t=3600`,
		}},
		"RateLimit of a refusal": {RateLimit, true, true, []string{
			`Ratelimit-Policy: "burst";q=5;w=10, "a \"day\"";q=100;w=86400`, `Ratelimit: "burst";r=0;t=3`,
		}},
		"draft 07": {Draft07, false, false, []string{
			`Ratelimit-Policy: 5;w=10, 100;w=86400`, `Ratelimit: limit=5, remaining=3, reset=10`,
		}},
		"draft 06 of a refusal": {Draft06, false, true, []string{
			`Ratelimit-Policy: 5;w=10, 100;w=86400`, `Ratelimit-Limit: 5`, `Ratelimit-Remaining: 0`, `Ratelimit-Reset: 3`,
		}},
		"X-RateLimit": {XDelta, false, false, []string{
			`X-Ratelimit-Limit: 5`, `X-Ratelimit-Remaining: 3`, `X-Ratelimit-Reset: 10`,
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var b Builder
			for range 2 { // a second time in the same memory
				b.Reset()
				b.Standings(tt.style, twoPolicies, standings(tt.refused), tt.usual, tt.refused)
				if got := lines(&b); !slices.Equal(got, tt.want) {
					t.Errorf("got\n%q, want\n%q", got, tt.want)
				}
			}
		})
	}
}

func TestRefusal(t *testing.T) {
	tests := map[time.Duration][]string{
		0:                       {"Retry-After: 1", "Cache-Control: no-store"},
		1001 * time.Millisecond: {"Retry-After: 2", "Cache-Control: no-store"},
		366 * 24 * time.Hour:    {"Retry-After: 2147483", "Cache-Control: no-store"},
		math.MaxInt64 - 1:       {"Retry-After: 2147483", "Cache-Control: no-store"},
		Never:                   {"Cache-Control: no-store"},
	}
	for wait, want := range tests {
		var b Builder
		b.Refusal(wait)
		if got := lines(&b); !slices.Equal(got, want) {
			t.Errorf("%v: got %q, want %q", wait, got, want)
		}
	}
}

func TestOneOfTwoEqualQuotasIsKept(t *testing.T) {
	list := []Standing{
		{
			Quota:     5,
			Window:    time.Minute,
			Remaining: 1,
		}, {Quota: 5, Window: time.Hour, Remaining: 2}, {Quota: 5, Window: time.Hour},
	}
	var b Builder
	b.Standings(Draft07, twoPolicies, list, false, false)
	want := []string{"Ratelimit-Policy: 5;w=3600", "Ratelimit: limit=5, remaining=0, reset=0"}
	if got := lines(&b); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func lines(b *Builder) (list []string) {
	for name, value := range b.All() {
		list = append(list, fmt.Sprintf("%s: %s", name, value))
	}
	return list
}
