package storekit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/httplimit/httplimit/limiter/storekit"
)

func TestAppendName(t *testing.T) {
	for _, tc := range []struct {
		name, s, want string // without the b before it; "*" for any hash
	}{
		{"an address", "192.0.2.7", "192.0.2.7"},
		{"the mark inside", "a*", "a*"},
		{"as long as it may be", strings.Repeat("x", 20), strings.Repeat("x", 20)},
		{"one byte longer", strings.Repeat("x", 21), "*d5nlFFjIVAwcqp0Y6WeLgw"},
		{"empty", "", "*47DEQpj8HBSa-_TImW-5JA"},
		{"the mark at its beginning", "*", "*aEiIwOuxfzdCmLZe4oB1Jg"},
		{"a space", "a rule", "*-KBiUo1yqDKv4QvD2FWnfA"},
		{"a reserved byte", "a|b", "*"},
		{"another one", "a}b", "*"},
		{"a control character", "a\n", "*"},
		{"delete", "a\x7f", "*"},
		{"beyond ASCII", "ä", "*"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := strings.CutPrefix(string(storekit.AppendName([]byte("b"), tc.s, 20, '*', "|}")), "b")
			if !ok || !strings.HasPrefix(got, tc.want) {
				t.Errorf("got %q, want it to begin with %q", got, tc.want)
			}
			if safe := tc.want == tc.s; safe && got != tc.s {
				t.Errorf("got %q, want it as it is", got)
			} else if !safe && len(got) != len("*")+22 {
				t.Errorf("got %q of %d bytes, want a hash of 22 and its mark", got, len(got))
			}
		})
	}
}

func TestAppendNameAllocations(t *testing.T) {
	long := strings.Repeat("x", 32)
	var room [64]byte
	if got := testing.AllocsPerRun(100, func() {
		storekit.AppendName(room[:0], "192.0.2.7", 20, '*', "|")
		storekit.AppendName(room[:0], long, 20, '*', "|")
	}); got != 0 {
		t.Errorf("allocations: got %v, want 0", got)
	}
}

func FuzzAppendName(f *testing.F) {
	f.Add("a", "b")
	f.Add("a|b", "*")
	f.Add("", "*47DEQpj8HBSa-_TImW-5JA")
	f.Fuzz(func(t *testing.T, one, two string) {
		name := func(s string) string { return string(storekit.AppendName(nil, s, 50, '*', "|")) }
		a, b := name(one), name(two)
		if (a == b) != (one == two) {
			t.Errorf("%q and %q become %q and %q", one, two, a, b)
		}
		unsafe := func(r rune) bool { return r <= ' ' || r > '~' || r == '|' }
		for _, text := range []string{a, b} {
			if text == "" || len(text) > 50 || strings.ContainsFunc(text, unsafe) {
				t.Errorf("%q is not safe", text)
			}
		}
	})
}

func BenchmarkAppendName(b *testing.B) {
	for _, s := range []string{"192.0.2.7", "2001:db8:1:2::/64", strings.Repeat("x", 120)} {
		b.Run(fmt.Sprintf("bytes=%d", len(s)), func(b *testing.B) {
			var room [64]byte
			b.ReportAllocs()
			for b.Loop() {
				storekit.AppendName(room[:0], s, 50, '*', "{}")
			}
		})
	}
}
