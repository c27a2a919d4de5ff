package fields

import (
	"slices"
	"time"
)

// addLegacy adds the styles that can describe one policy only. Those of requests at once have no place in them: they
// are removed from the list.
func (b *Builder) addLegacy(style Style, policies []Standing, refused bool) {
	policies = slices.DeleteFunc(policies, func(s Standing) bool { return s.InFlight })
	if len(policies) == 0 {
		return
	}
	one := strictest(policies)
	if refused && !one.Violated {
		return // the policy that refused the request is not to be named
	}
	reset := Seconds(one.wait())
	switch {
	case style&Draft07 != 0:
		b.addLegacyPolicies(policies)
		text := appendCount(append(b.text, "limit="...), one.Quota)
		text = appendCount(append(text, ", remaining="...), one.Remaining)
		b.add(nameRateLimit, appendCount(append(text, ", reset="...), reset))
	case style&Draft06 != 0:
		b.addLegacyPolicies(policies)
		b.addNumber(nameLimit, one.Quota)
		b.addNumber(nameRemaining, one.Remaining)
		b.addNumber(nameReset, reset)
	}
	if style&(XEpoch|XDelta) == 0 {
		return
	}
	b.addNumber(nameXLimit, one.Quota)
	b.addNumber(nameXRemaining, one.Remaining)
	if style&XEpoch != 0 {
		reset = epoch(time.Now(), one.wait())
	}
	b.addNumber(nameXReset, reset)
}

// addLegacyPolicies adds RateLimit-Policy of drafts 04 to 07. Two of its members must not have the same quota, so only
// that with the longest window is kept.
func (b *Builder) addLegacyPolicies(policies []Standing) {
	text := b.text
	for i := range policies {
		if hasLongerTwin(policies, i) {
			continue
		}
		text = separate(text, len(text) > len(b.text))
		text = appendCount(text, policies[i].Quota)
		text = appendCount(append(text, ";w="...), Seconds(policies[i].Window))
	}
	b.add(namePolicy, text)
}

// hasLongerTwin reports whether another policy has the quota of policy i and a longer window, or an equal one earlier.
func hasLongerTwin(policies []Standing, i int) bool {
	for j := range policies {
		if j == i || policies[j].Quota != policies[i].Quota {
			continue
		}
		if longer := policies[j].Window - policies[i].Window; longer > 0 || longer == 0 && j < i {
			return true
		}
	}
	return false
}

// strictest returns the violated policy with the longest wait, else the one with the least left; of equal ones that
// with the later reset.
func strictest(policies []Standing) *Standing {
	best := &policies[0]
	for i := 1; i < len(policies); i++ {
		if policies[i].stricterThan(best) {
			best = &policies[i]
		}
	}
	return best
}

func (s *Standing) stricterThan(other *Standing) bool {
	switch {
	case s.Violated != other.Violated:
		return s.Violated
	case s.Violated:
		return s.RetryAfter > other.RetryAfter
	case s.Remaining != other.Remaining:
		return s.Remaining < other.Remaining
	}
	return s.ResetAfter > other.ResetAfter
}

// epoch returns the Unix time of d from now in seconds, rounded up as a whole.
func epoch(now time.Time, d time.Duration) int64 {
	s := now.Unix() + int64(d/time.Second)
	return s + Seconds(time.Duration(now.Nanosecond())+d%time.Second)
}
