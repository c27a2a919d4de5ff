// Package workload has the load that all benchmarks share: the keys of many clients and the order in which they come.
// Both are the same in every run.
package workload

import (
	"math/rand/v2"
	"time"
)

// Window is the window of every limit that must reach no boundary while it is measured: windows of seven days begin on
// Thursdays at 0:00 UTC.
const Window = 7 * 24 * time.Hour

// Visits is the length of an Order: a power of two, long enough that a processor does not learn it.
const Visits = 1 << 20

// Addresses returns n different keys, each a string of its own: the first n addresses of 10.0.0.0/8.
func Addresses(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = Address(i)
	}
	return keys
}

// Address returns the address of client i.
func Address(i int) string {
	return string(appendAddress(nil, i))
}

func appendAddress(b []byte, i int) []byte {
	b = append(b, "10"...)
	for shift := 16; shift >= 0; shift -= 8 {
		b = append(b, '.')
		octet := byte(i >> shift)
		if octet >= 100 {
			b = append(b, '0'+octet/100)
		}
		if octet >= 10 {
			b = append(b, '0'+octet/10%10)
		}
		b = append(b, '0'+octet%10)
	}
	return b
}

// Order is which of n clients comes when. It is read over and over.
type Order [Visits]uint32

// Uniform returns an Order in which every client is as likely as any other.
func Uniform(n int) *Order {
	random := rand.New(rand.NewPCG(1, 2))
	return newOrder(func() uint64 { return random.Uint64N(uint64(n)) })
}

// Zipf returns an Order in which few clients come often and most of them rarely, as on the web: exponent 1.1.
func Zipf(n int) *Order {
	return newOrder(rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, uint64(n)-1).Uint64)
}

func newOrder(next func() uint64) *Order {
	o := new(Order)
	for i := range o {
		o[i] = uint32(next())
	}
	return o
}
