package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/httplimit/httplimit/policy"
)

// FuzzParse: no text panics or hangs. Each fault has a place in the text and says what is wrong there. A policy comes
// back from what it writes, and makes a configuration that is valid.
func FuzzParse(f *testing.F) {
	f.Add(shop)
	for _, tt := range faultCases {
		if text, _ := unmark(tt.text); len(text) < 10_000 { // the fuzzer is slow with long ones
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := policy.Parse([]byte(text))
		if err != nil {
			faults := policy.Faults(err)
			if len(faults) == 0 {
				t.Fatalf("%v has no faults", err)
			}
			lines := strings.Split(text, "\n")
			for _, fault := range faults {
				inside := fault.Line >= 1 && fault.Line <= len(lines)
				if !inside || fault.Column < 1 || fault.Column > len([]rune(lines[fault.Line-1]))+1 || fault.Reason == "" {
					t.Errorf("%+v is no fault of a text of %d lines", fault, len(lines))
				}
				if strings.ContainsFunc(fault.Error(), func(r rune) bool { return r < ' ' || r == 0x7F }) {
					t.Errorf("%q would write control characters to a terminal", fault.Error())
				}
			}
			return
		}
		written, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := policy.Parse(written)
		if err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		if second, err := json.Marshal(again); err != nil || string(second) != string(written) {
			t.Errorf("got %s and %v, want %s", second, err, written)
		}
	})
}

// FuzzCondition: what ParseCondition takes, http.ServeMux takes too, and matching panics for no path.
func FuzzCondition(f *testing.F) {
	for _, text := range []string{"/", "POST /login", "a.test/{x}/{y...}", "/a/{$}", "name:x", "/%2F/%zz", "/é/{a}/{a}"} {
		f.Add(text, "/a/../b;x//%2f")
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		c, err := policy.ParseCondition(text)
		if err != nil || c.Name() != "" {
			return
		}
		mux(t, c)
		for _, r := range requests(path) {
			applies(t, r, text)
		}
	})
}
