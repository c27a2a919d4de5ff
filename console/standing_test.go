package console

import (
	"testing"

	"github.com/httplimit/httplimit/limiter"
)

func TestSumUp(t *testing.T) {
	for _, test := range []struct {
		states []string // of the rules a, b, c
		want   standingSum
	}{
		{[]string{"allowed", "allowed"}, standingSum{"Passes.", false, false}},
		{[]string{"allowed", "shadow"}, standingSum{"Passes; would be refused by b.", false, true}},
		{[]string{"allowed", "unknown"}, standingSum{"Not known of b.", false, true}},
		{[]string{"refused", "unknown", "refused"}, standingSum{"Refused by a, c; not known of b.", true, true}},
		{
			[]string{"shadow", "refused", "banned"},
			standingSum{"Banned by c; refused by b; would be refused by a.", true, true},
		},
	} {
		var all []standing
		for i, state := range test.states {
			one := standing{Rule: string(rune('a' + i)), State: state}
			all = append(all, one, one) // in two stores
		}
		if got := sumUp(all); *got != test.want {
			t.Errorf("%q: got %+v, want %+v", test.states, *got, test.want)
		}
	}
	if got := sumUp([]standing{{State: "refused"}}); got != nil {
		t.Errorf("one rule: got %+v, want nothing", got)
	}
}

// Nobody is said to have been refused by a rule that refuses nobody.
func TestLookupInShadow(t *testing.T) {
	shadow := byAddress("tried", limiter.PerDay(1))
	shadow.Shadow = true
	s := newSite(t, shadow, byAddress("address", limiter.PerDay(2)))
	for range 3 {
		s.request("192.0.2.7")
	}
	waitForNextSecond(t, s)
	w := s.post("client", form("shape", shapeOf(t, s, "ip"), "part", "192.0.2.7"), "")
	mustContain(t, w, "Refused by address; would be refused by tried.", "Would have been refused 2 times",
		"Refused once since")
}
