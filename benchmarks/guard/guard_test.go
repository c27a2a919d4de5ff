package main

import (
	"errors"
	"testing"
)

var kept []byte

// TestAllocation shows that one more allocation is a fault, and one less is none.
func TestAllocation(t *testing.T) {
	once := func() (operation, error) {
		return func() error {
			kept = make([]byte, 64)
			return nil
		}, nil
	}
	for _, c := range []struct {
		allowed int
		wantOK  bool
	}{{0, false}, {1, true}, {2, true}} {
		p := path{"a path that allocates once", c.allowed, once}
		got, err := p.count()
		if err != nil || got != 1 {
			t.Errorf("count: got %d, %v, want 1", got, err)
		}
		if err := p.judge(got); (err == nil) != c.wantOK {
			t.Errorf("%d allowed: got %v, want a fault %v", c.allowed, err, !c.wantOK)
		}
	}
}

func TestWrongAnswer(t *testing.T) {
	want := errors.New("wrong")
	wrong := func() (operation, error) { return func() error { return want }, nil }
	if _, err := (path{open: wrong}).count(); !errors.Is(err, want) {
		t.Errorf("count: got %v, want %v", err, want)
	}
	if _, err := (contest{path: wrong, plain: plainTake}).measure(); !errors.Is(err, want) {
		t.Errorf("measure: got %v, want %v", err, want)
	}
}

func TestTime(t *testing.T) {
	c := contest{most: 2}
	if err := c.judge(2); err != nil {
		t.Errorf("twice the time: got %v, want no fault", err)
	}
	if err := c.judge(2.1); err == nil {
		t.Error("more than twice the time: got no fault")
	}
}
