package otellimit

// counterID is what the counters of stores and servers are told apart by.
type counterID struct{ store, address, name string }

// growing makes counters that only grow of those of stores, which begin at zero when a Reconfigure replaces the store:
// OpenTelemetry's may not fall, and with delta temporality would be told as below zero.
type growing struct{ now, before map[counterID]grown }

// grown is what a counter was last, and the sum of what it was each time before it fell.
type grown struct{ last, lost uint64 }

// begin begins a collection. What the one before did not have is forgotten, as the SDK does.
func (g *growing) begin() { g.before, g.now = g.now, make(map[counterID]grown, len(g.now)) }

// count returns what is told of a counter that is at n.
func (g *growing) count(id counterID, n uint64) uint64 {
	c := g.before[id]
	if n < c.last {
		c.lost += c.last
	}
	c.last = n
	g.now[id] = c
	return c.lost + n
}
