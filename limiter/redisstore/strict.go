package redisstore

import (
	"encoding/binary"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// parts returns what the StrictWindow of c held at the server's time, whose key has that place in the batch, from 0.
func (o *outcome) parts(c *limiter.Charge, place int) *algorithm.Parts {
	length, _ := algorithm.PartsOf(c.Limit.Window)
	p := &algorithm.Parts{Number: o.at / length}
	if o.values == nil {
		o.numberParts(c, p)
		return p
	}
	text, _ := o.values[2+2*place].(string)
	for i := 0; i < len(p.Counts) && 4*i+4 <= len(text); i++ {
		p.Counts[i] = int64(binary.BigEndian.Uint32([]byte(text[4*i:])))
	}
	return p
}

// numberParts fills in what strict.lua answered: the units in use and, if c was refused, the two parts that its waits
// are told by. Which parts the other units are in does not matter to the decision.
func (o *outcome) numberParts(c *limiter.Charge, p *algorithm.Parts) {
	const agoBits = 4
	told := o.numbers[0] >> 1
	units := told >> (2 * agoBits)
	if o.taken {
		p.Counts[0] = units
		return
	}
	awaited := min(told>>agoBits&(1<<agoBits-1), algorithm.StrictParts)
	newest := min(told&(1<<agoBits-1), algorithm.StrictParts)
	lacking := min(units, units+c.Cost-c.Limit.Requests)
	p.Counts[awaited] += lacking
	p.Counts[newest] += units - lacking
}
