package main

import "testing"

func TestAccounts(t *testing.T) {
	const rounds = 2 // what is tested does not depend on it
	a, err := newAccounts(rounds, map[string]string{"ann": "right", "bob": "other"})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		user, password string
		want           bool
	}{
		"right":               {"ann", "right", true},
		"wrong":               {"ann", "wrong", false},
		"begins right":        {"ann", "righ", false},
		"none":                {"ann", "", false},
		"another's":           {"bob", "right", false},
		"no such user":        {"eve", "right", false},
		"nobody with nothing": {"", "", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := a.check(t.Context(), tt.user, tt.password); got != tt.want || err != nil {
				t.Errorf("got %t, %v, want %t", got, err, tt.want)
			}
		})
	}
}
