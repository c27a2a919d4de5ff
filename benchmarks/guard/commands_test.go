package main

import "testing"

// TestExchange shows that one trip, command or allocation more is a fault, and one less is none.
func TestExchange(t *testing.T) {
	e := exchange{most: expense{trips: 1, commands: 4, allocs: 20}}
	for _, c := range []struct {
		got    expense
		wantOK bool
	}{
		{expense{1, 4, 20}, true},
		{expense{0, 0, 0}, true},
		{expense{2, 4, 20}, false},
		{expense{1, 5, 20}, false},
		{expense{1, 4, 21}, false},
	} {
		if err := e.judge(c.got); (err == nil) != c.wantOK {
			t.Errorf("%v: got %v, want a fault %v", c.got, err, !c.wantOK)
		}
	}
}

// TestRoundedUp shows that a trip too many in many requests is one too many.
func TestRoundedUp(t *testing.T) {
	for _, c := range []struct{ n, want int }{{0, 0}, {1, 1}, {50, 1}, {51, 2}} {
		if got := ceil(c.n, 50); got != c.want {
			t.Errorf("%d of 50 requests: got %d, want %d", c.n, got, c.want)
		}
	}
}
