package web

import (
	"net/http"
	"time"

	"github.com/httplimit/httplimit"
)

// Subject is middleware that is measured, around a handler that does nothing.
type Subject struct {
	Framework, Name string
	// Open makes the whole server. Bare and Own run with every Key; rivals say below which they lack.
	Open  func(Setup) (func() Session, error)
	lacks []Key
}

// Setup is how a Subject is opened.
type Setup struct {
	Key    Key
	Limit  int64 // requests per Window for each client
	Window time.Duration
	Fields httplimit.HeaderStyle // of httplimit
	// Refuses says that the answers to measure are refusals.
	Refuses bool
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

// Session sends requests. It belongs to one goroutine.
type Session struct {
	// Serve sends a request of a client and returns the status of the answer.
	Serve func(client int) (status int)
	// Last returns the header fields of the last answer, until the next, and the length of its body.
	Last func() (fields http.Header, length int)
}

// Bare is the name of the Subjects without any middleware.
const Bare = "none"

// Own is the name of httplimit's Subjects.
const Own = "httplimit"

// OwnSilent is httplimit without RateLimit fields, beside rivals that have none.
const OwnSilent = Own + "-nofields"

// OwnAlike is httplimit with as few header fields as the framework's own limiter.
const OwnAlike = Own + "-alike"

func silent(open func(Setup) (func() Session, error)) func(Setup) (func() Session, error) {
	return func(s Setup) (func() Session, error) {
		s.Fields = httplimit.NoHeaders
		return open(s)
	}
}

// telling makes the fields those of X-RateLimit, which the framework's own limiter sends too.
func telling(open func(Setup) (func() Session, error)) func(Setup) (func() Session, error) {
	return func(s Setup) (func() Session, error) {
		s.Fields = httplimit.XRateLimitDelta
		return open(s)
	}
}

// tellingAllowed is telling where requests are allowed, and silent where they are refused: Fiber's own limiter sends
// X-RateLimit fields with what it allows only. No HeaderStyle does that, so what is measured is one and the other.
func tellingAllowed(open func(Setup) (func() Session, error)) func(Setup) (func() Session, error) {
	return func(s Setup) (func() Session, error) {
		if s.Refuses {
			return silent(open)(s)
		}
		return telling(open)(s)
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
		{"fiber", OwnAlike, tellingAllowed(fiberOwnAlike), plainOnly},
		{"fiber", "fiber-fixed", fiberFixed, plainOnly},
		{"fiber", "fiber-sliding", fiberSliding, plainOnly},
		{"fiber3", Bare, fiber3Bare, nil},
		{"fiber3", Own, fiber3Own, nil},
		{"fiber3", OwnAlike, tellingAllowed(fiber3OwnAlike), plainOnly},
		{"fiber3", "fiber3-fixed", fiber3Fixed, plainOnly},
		{"fiber3", "fiber3-sliding", fiber3Sliding, plainOnly},
	}
}
