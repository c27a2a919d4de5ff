package main

import "time"

// replay passes requests to a limiter at their moments, on a clock that is moved, and judges what it decides.
func replay(take decide, requests []request, limit int, window time.Duration) figures {
	time.Sleep(time.Until(time.Now().Truncate(window).Add(2 * window))) // traffic begins with a window
	j, start := newJudge(limit, window), time.Now()
	for _, r := range requests {
		time.Sleep(time.Until(start.Add(r.at)))
		j.saw(r.at, r.client, take(r.client))
	}
	return j.figures
}

// slept does the same on the real clock, with everything faster: requests come, and windows pass, in 1/faster of the
// time. A request is some milliseconds late as a rule, and judged at the moment at which it should have come.
func slept(open func(int, time.Duration) (decide, func()), requests []request, limit int, window time.Duration,
	faster int) figures {
	take, end := open(limit, window/time.Duration(faster))
	defer end()
	j, start := newJudge(limit, window), time.Now()
	for _, r := range requests {
		time.Sleep(time.Until(start.Add(r.at / time.Duration(faster))))
		j.saw(r.at, r.client, take(r.client))
	}
	return j.figures
}
