package web

import (
	"time"

	"github.com/httplimit/httplimit"
)

// Subject is middleware that is measured, around a handler that does nothing.
type Subject struct {
	Framework, Name string
	// Open makes the whole server. Bare and Own run with every Key; rivals say below which they lack.
	Open  func(Setup) (func() Serve, error)
	lacks []Key
}

// Setup is how a Subject is opened.
type Setup struct {
	Key    Key
	Limit  int64 // requests per Window for each client
	Window time.Duration
	Fields httplimit.HeaderStyle // of httplimit
}

// Key is how clients are identified.
type Key string

const (
	Address     Key = "address"      // the peer's
	Header      Key = "header"       // the field Field
	AddressHMAC Key = "address-hmac" // HMACed before it is used
	HeaderHMAC  Key = "header-hmac"
)

// Field is the header field that identifies clients.
const Field = "X-Client"

// Secret is the key of the HMAC: none for the plain Keys.
func (k Key) Secret() []byte {
	if k == AddressHMAC || k == HeaderHMAC {
		return []byte("a secret of 32 bytes, or about so")
	}
	return nil
}

// InHeader reports whether a header field identifies clients, and not their address.
func (k Key) InHeader() bool { return k == Header || k == HeaderHMAC }

// Keys are all of them.
func Keys() []Key { return []Key{Address, Header, AddressHMAC, HeaderHMAC} }

// Runs reports whether the Subject supports that Key.
func (s Subject) Runs(k Key) bool {
	for _, lacking := range s.lacks {
		if lacking == k {
			return false
		}
	}
	return true
}

// Serve sends a request of a client and returns the status of the answer. It belongs to one goroutine.
type Serve func(client int) (status int)

// Bare is the name of the Subjects without any middleware.
const Bare = "none"

// Own is the name of httplimit's Subjects.
const Own = "httplimit"

// OwnSilent is httplimit without RateLimit fields, beside rivals that have none.
const OwnSilent = Own + "-nofields"

// OwnAlike is httplimit with as few header fields as the framework's own limiter.
const OwnAlike = Own + "-alike"

func silent(open func(Setup) (func() Serve, error)) func(Setup) (func() Serve, error) {
	return func(s Setup) (func() Serve, error) {
		s.Fields = httplimit.NoHeaders
		return open(s)
	}
}

// telling makes the fields of allowed requests those of X-RateLimit, which the framework's own limiter sends too.
func telling(open func(Setup) (func() Serve, error)) func(Setup) (func() Serve, error) {
	return func(s Setup) (func() Serve, error) {
		s.Fields = httplimit.XRateLimitDelta
		return open(s)
	}
}

// Subjects returns all of them, those of one framework together and the bare one first.
func Subjects() []Subject {
	plainOnly := []Key{AddressHMAC, HeaderHMAC}
	return []Subject{
		{"net-http", Bare, nethttpBare, nil},
		{"net-http", Own, nethttpOwn, nil},
		{"net-http", OwnSilent, silent(nethttpOwn), plainOnly},
		{"net-http", "httprate", nethttpHTTPRate, plainOnly},
		{"net-http", "ulule", nethttpUlule, plainOnly},
		{"net-http", "go-limiter", nethttpGoLimiter, plainOnly},
		{"net-http", "throttled", nethttpThrottled, plainOnly},
		{"net-http", "tollbooth", nethttpTollbooth, plainOnly},
		{"net-http", "x-time-map", nethttpXTime, plainOnly},
		{"gin", Bare, ginBare, nil},
		{"gin", Own, ginOwn, nil},
		{"gin", OwnSilent, silent(ginOwn), plainOnly},
		{"gin", "ulule", ginUlule, plainOnly},
		{"echo", Bare, echoBare, nil},
		{"echo", Own, echoOwn, nil},
		{"echo", OwnAlike, silent(echoOwnAlike), plainOnly},
		{"echo", "echo", echoRival, plainOnly},
		{"echo5", Bare, echo5Bare, nil},
		{"echo5", Own, echo5Own, nil},
		{"echo5", OwnAlike, telling(echo5OwnAlike), plainOnly},
		{"echo5", "echo5", echo5Rival, plainOnly},
		{"fiber", Bare, fiberBare, nil},
		{"fiber", Own, fiberOwn, nil},
		{"fiber", OwnAlike, silent(fiberOwnAlike), plainOnly},
		{"fiber", "fiber-fixed", fiberFixed, plainOnly},
		{"fiber", "fiber-sliding", fiberSliding, plainOnly},
		{"fiber3", Bare, fiber3Bare, nil},
		{"fiber3", Own, fiber3Own, nil},
		{"fiber3", OwnAlike, telling(fiber3OwnAlike), plainOnly},
		{"fiber3", "fiber3-fixed", fiber3Fixed, plainOnly},
		{"fiber3", "fiber3-sliding", fiber3Sliding, plainOnly},
	}
}
