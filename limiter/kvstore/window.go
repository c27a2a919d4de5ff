package kvstore

import "time"

// late tells whether the window is so near its end, or past it, that faster clocks may be in the next one.
func (s *Store) late(c *counter, now int64) bool {
	return c.end()-now <= millis(s.skew)
}

// timeToLive is until the window of c counts on no clock any more.
func (s *Store) timeToLive(c *counter, at int64) time.Duration {
	end := c.end()
	if c.sliding() {
		end += c.limit.WindowMillis()
	}
	return time.Duration(end-at)*time.Millisecond + s.skew + s.timeout
}

// millis rounds up.
func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
