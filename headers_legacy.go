package httplimit

import "time"

// legacy writes the styles that can tell of one rule only.
func (o *Outcome) legacy(style HeaderStyle, refused bool) {
	one := o.reported()
	if refused && !o.violated(one) {
		return // what refused the request is not to be told
	}
	w, quota, remaining, reset := &o.wire, o.limit(one).Requests, o.remaining(one), seconds(o.reset(one))
	switch {
	case style&RateLimitDraft07 != 0:
		w.end(fieldPolicy, o.appendLegacyPolicy(w.text))
		b := appendCount(append(w.text, "limit="...), quota)
		b = appendCount(append(b, ", remaining="...), remaining)
		w.end(fieldRateLimit, appendCount(append(b, ", reset="...), reset))
	case style&RateLimitDraft06 != 0:
		w.end(fieldPolicy, o.appendLegacyPolicy(w.text))
		w.number(fieldLimit, quota)
		w.number(fieldRemaining, remaining)
		w.number(fieldReset, reset)
	}
	if style&(XRateLimitEpoch|XRateLimitDelta) == 0 {
		return
	}
	w.number(fieldXLimit, quota)
	w.number(fieldXRemaining, remaining)
	if style&XRateLimitEpoch != 0 {
		reset = epoch(time.Now(), o.reset(one))
	}
	w.number(fieldXReset, reset)
}

// appendLegacyPolicy writes RateLimit-Policy of drafts 04 to 07: two policies must not have the same quota, so only the
// one with the longest window is kept.
func (o *Outcome) appendLegacyPolicy(b []byte) []byte {
	from := len(b)
	for i := range o.items {
		if o.items[i].listed && !o.eclipsed(i) {
			b = separate(b, len(b) > from)
			b = appendCount(b, o.limit(i).Requests)
			b = appendCount(append(b, ";w="...), seconds(o.limit(i).Window))
		}
	}
	return b
}

func (o *Outcome) eclipsed(i int) bool {
	for j := range o.items {
		if j == i || !o.items[j].listed || o.limit(j).Requests != o.limit(i).Requests {
			continue
		}
		if longer := o.limit(j).Window - o.limit(i).Window; longer > 0 || longer == 0 && j < i {
			return true
		}
	}
	return false
}

// reported chooses the one rule that the older styles can tell of: the violated one with the longest wait, else the
// one with the least left, of equal ones that with the later reset.
func (o *Outcome) reported() int {
	best := -1
	for i := range o.items {
		if o.items[i].listed && (best < 0 || o.before(i, best)) {
			best = i
		}
	}
	return best
}

func (o *Outcome) before(i, j int) bool {
	switch {
	case o.violated(i) != o.violated(j):
		return o.violated(i)
	case o.violated(i):
		return o.charges[i].RetryAfter > o.charges[j].RetryAfter
	case o.remaining(i) != o.remaining(j):
		return o.remaining(i) < o.remaining(j)
	}
	return o.reset(i) > o.reset(j)
}
