package limitertest

import (
	"strings"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

func testSeparateCounters(s *storeTest) {
	var charges []limiter.Charge
	for _, scope := range []string{"login", "search"} {
		for _, key := range []string{"alice", "bob"} {
			for _, window := range []time.Duration{still, still - time.Hour, still / 2} {
				charges = append(charges, limiter.Charge{Scope: scope, Key: key, Limit: s.per(1000, window)})
			}
		}
	}
	for _, algorithm := range s.algorithms() {
		if algorithm != s.algorithm {
			c := s.charge("alice", 1000, 0)
			c.Scope, c.Limit.Algorithm = "login", algorithm
			charges = append(charges, c)
		}
	}
	s.wantSeparate(charges)
}

func testHostileNames(s *storeTest) {
	long := strings.Repeat("k", 299)
	names := []string{
		"", " ", "\n", "\r\n", "\x00", "\t", "a", "A", "a ", " a", "a\x00", "a\n",
		"*", "?", "[a]", "{", "}", "{}", "{a}", "}a{", ":", "::", "a:", ":a", "a:b", "a/b", "a|b", "a,b", "#", "#a", "%",
		"%3A", "%25", "%41",
		`"`, `\`, `a\:b`, "a;b", "$0", "' OR ''='", "é", "e\u0301", "\ufffd", "\xff", "\xfe", "\xff\xfe", "a\xffb", "\u2028",
		long + "1", long + "2", long, strings.Repeat("é", 150), strings.Repeat("\xff", 300),
	}
	var asKeys, asScopes []limiter.Charge
	for _, name := range names {
		c := s.charge(name, 1000, 0)
		asKeys = append(asKeys, c)
		c.Scope, c.Key = name, "key"
		asScopes = append(asScopes, c)
	}
	s.wantSeparate(asKeys)
	s.wantSeparate(asScopes)

	// The same bytes, split at another place.
	var split []limiter.Charge
	for _, pair := range [][2]string{
		{"", "a:b:c"}, {"a", "b:c"}, {"a:b", "c"}, {"a:b:c", ""}, {"a:", "b:c"}, {"a", ":b:c"}, {"abc", ""}, {"ab", "c"},
		{"", "abc"},
		{"a}", "{b"}, {"a", "}{b"}, {"a}{", "b"}, {"{a}", "b"}, {"{a", "}b"}, {"a\x00", "b"}, {"a", "\x00b"}, {long, "k"},
		{long + "k", ""},
	} {
		c := s.charge(pair[1], 1000, 0)
		c.Scope = pair[0]
		split = append(split, c)
	}
	s.wantSeparate(split)
}

// wantSeparate spends another number of units from each counter, and checks that each holds its own.
func (s *storeTest) wantSeparate(charges []limiter.Charge) {
	s.Helper()
	for i := range charges {
		s.pass(cost(int64(i)+1, charges[i]))
	}
	for i := range charges {
		s.wantLeft(charges[i].Limit.Requests-int64(i)-1, charges[i])
	}
	for i := range charges {
		s.reset(charges[i])
	}
}
