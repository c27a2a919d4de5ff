package main

import "testing"

// TestExchange shows that one trip or one command more is a fault, and one less is none.
func TestExchange(t *testing.T) {
	e := exchange{trips: 1, commands: 4}
	for _, c := range []struct {
		trips, commands int
		wantOK          bool
	}{{1, 4, true}, {0, 0, true}, {1, 3, true}, {2, 4, false}, {1, 5, false}} {
		if err := e.judge(c.trips, c.commands); (err == nil) != c.wantOK {
			t.Errorf("%d trips and %d commands: got %v, want a fault %v", c.trips, c.commands, err, !c.wantOK)
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
