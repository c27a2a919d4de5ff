package keyenc

import (
	"fmt"
	"strings"
	"testing"
)

func TestAppendSafe(t *testing.T) {
	for _, tc := range []struct {
		name      string
		s         string
		want, hex string // without the b before them
	}{
		{"an address", "192.0.2.7", "192.0.2.7", "192.0.2.7"},
		{"the mark inside", "a*", "a*", "a*"},
		{"as long as it may be", strings.Repeat("x", 20), strings.Repeat("x", 20), strings.Repeat("x", 20)},
		{"one byte longer", strings.Repeat("x", 21), "*d5nlFFjIVAwcqp0Y6WeLgw", ""},
		{"empty", "", "*47DEQpj8HBSa-_TImW-5JA", "*e3b0c44298fc1c149afbf4c8996fb924"},
		{"the mark at its beginning", "*", "*aEiIwOuxfzdCmLZe4oB1Jg", "*684888c0ebb17f374298b65ee2807526"},
		{"a space", "a rule", "*-KBiUo1yqDKv4QvD2FWnfA", "*f8a062528d72a832afe10bc3d855a77c"},
		{"a reserved byte", "a|b", "*", "*"},
		{"another one", "a}b", "*", "*"},
		{"a control character", "a\n", "*", "*"},
		{"delete", "a\x7f", "*", "*"},
		{"beyond ASCII", "ä", "*", "*"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, form := range []struct {
				name   string
				append func([]byte, string, int, byte, string) []byte
				want   string
				length int // of a hash and its mark
			}{
				{"base64url", AppendSafe, tc.want, 23},
				{"hexadecimal", AppendSafeHex, tc.hex, 33},
			} {
				got, ok := strings.CutPrefix(string(form.append([]byte("b"), tc.s, 20, '*', "|}")), "b")
				if !ok || !strings.HasPrefix(got, form.want) {
					t.Errorf("%s: got %q, want it to begin with %q", form.name, got, form.want)
				}
				if safe := tc.want == tc.s; safe && got != tc.s {
					t.Errorf("%s: got %q, want it as it is", form.name, got)
				} else if !safe && len(got) != form.length {
					t.Errorf("%s: got %q of %d bytes, want %d of a hash", form.name, got, len(got), form.length)
				}
			}
		})
	}
}

func TestAppendSafeDoesNotAllocate(t *testing.T) {
	long := strings.Repeat("x", 32)
	var room [64]byte
	if got := testing.AllocsPerRun(100, func() {
		AppendSafe(room[:0], "192.0.2.7", 20, '*', "|")
		AppendSafe(room[:0], long, 20, '*', "|")
		AppendSafeHex(room[:0], long, 20, '*', "|")
	}); got != 0 {
		t.Errorf("allocations: got %v, want 0", got)
	}
}

func FuzzAppendSafe(f *testing.F) {
	f.Add("a", "b")
	f.Add("a|b", "*")
	f.Add("", "*47DEQpj8HBSa-_TImW-5JA")
	f.Fuzz(func(t *testing.T, one, two string) {
		for name, safe := range map[string]func([]byte, string, int, byte, string) []byte{
			"base64url": AppendSafe, "hexadecimal": AppendSafeHex,
		} {
			a, b := string(safe(nil, one, 50, '*', "|")), string(safe(nil, two, 50, '*', "|"))
			if (a == b) != (one == two) {
				t.Errorf("%s: %q and %q become %q and %q", name, one, two, a, b)
			}
			unsafe := func(r rune) bool { return r <= ' ' || r > '~' || r == '|' }
			for _, text := range []string{a, b} {
				if text == "" || len(text) > 50 || strings.ContainsFunc(text, unsafe) {
					t.Errorf("%s: %q is not safe", name, text)
				}
			}
		}
	})
}

func BenchmarkAppendSafe(b *testing.B) {
	for _, s := range []string{"192.0.2.7", "2001:db8:1:2::/64", strings.Repeat("x", 120)} {
		b.Run(fmt.Sprintf("bytes=%d", len(s)), func(b *testing.B) {
			var room [64]byte
			b.ReportAllocs()
			for b.Loop() {
				AppendSafe(room[:0], s, 50, '*', "{}")
			}
		})
	}
}
