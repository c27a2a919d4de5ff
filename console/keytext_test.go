package console

import (
	"slices"
	"testing"
)

func TestReadKey(t *testing.T) {
	for _, test := range []struct {
		stored, key, noKey string
		parts              []string
		note               string
	}{
		{"192.0.2.7", "ip", "", []string{"192.0.2.7"}, ""},
		{"2001:db8::/64", "ip", "", []string{"2001:db8::/64"}, ""},
		{"192.0.2.7:a%3Ab%20c", "ip + header:X", "", []string{"192.0.2.7", "a:b c"}, ""},
		{"2001%3Adb8%3A%3A%2F64:bob", "ip + basic", "", []string{"2001:db8::/64", "bob"}, ""},
		{"#1ym-6X845IUoQdyFY7nqEQ", "apikey:X", "", []string{"#1ym-6X845IUoQdyFY7nqEQ"}, ""},
		{"%23not-a-hash", "header:X", "", []string{"#not-a-hash"}, ""},
		{"%N:192.0.2.7", "apikey:X", "ip", []string{"192.0.2.7"}, "without identity, by NoKey"},
		{"%N:2001:db8::/64", "apikey:X + ip", "", []string{"2001:db8::/64"}, "without identity, by NoKey"},
		{"%N:192.0.2.7:bob", "apikey:X", "ip + basic", []string{"192.0.2.7", "bob"}, "without identity, by NoKey"},
		{"%K1:#x", "apikey:X | ip", "", []string{"#x"}, "alternative 1"},
		{"%K2:192.0.2.7", "apikey:X | ip", "", []string{"192.0.2.7"}, "alternative 2"},
		{"%K1:a:b", "header:X + basic | ip", "", []string{"a", "b"}, "alternative 1"},
		{"192.0.2.7:%K2:bob", "ip + (bearer | basic)", "", []string{"192.0.2.7", "bob"}, ""},
		{"%P:192.0.2.7", "ip", "", []string{"192.0.2.7"}, "preflight"},
		{"%P:%N:192.0.2.7", "bearer", "", []string{"192.0.2.7"}, "preflight, without identity, by NoKey"},
		{"%U", "bearer", "", nil, "without any identity"},
		{"%M", "bearer", "", nil, "ambiguous identity"},
		{"%K9:x", "a | b", "", []string{"x"}, "alternative 9"},
		{"", "everyone", "", nil, ""},
		{"caf%C3%A9", "header:X", "", []string{"café"}, ""},
		{"%E2%80%AEgnp.exe", "header:X", "", []string{"%E2%80%AEgnp.exe"}, ""}, // turns the direction of writing
		{"a%00b%0Ac%FF", "header:X", "", []string{"a%00b%0Ac%FF"}, ""},
		{"a:b", "", "", []string{"a:b"}, ""},
		{"100%", "header:X", "", []string{"100%"}, ""},
	} {
		got := readKey(test.stored, test.key, test.noKey)
		if !slices.Equal(got.Parts, test.parts) || got.Note != test.note {
			t.Errorf("%s by %s: got %q %q, want %q %q",
				test.stored, test.key, got.Parts, got.Note, test.parts, test.note)
		}
	}
}
