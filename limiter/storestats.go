package limiter

import "time"

// StatsReporter is implemented by stores that can say how they are doing: all those of this module do. It asks no
// server, is safe for concurrent use, and is meant for metrics and for operators, not for each request.
type StatsReporter interface{ Stats() StoreStats }

// StoreStats is how a [Store] is doing in this process at one moment. What does not apply to a store is zero. Numbers
// that only grow begin at zero when the store is made. The JSON names are stable.
type StoreStats struct {
	// Name is that of the store's Config, "" without one. It tells the stores of a program apart, in metrics too.
	Name string `json:"name,omitempty"`

	// Servers are the servers that the store asks, by Address; of a cluster those that its topology names. A store in
	// memory has none.
	Servers []ServerStats `json:"servers,omitempty"`

	Entries    int64  `json:"entries"`    // counters kept in this process
	Capacity   int64  `json:"capacity"`   // the bound of Entries, 0 without one
	Evicted    uint64 `json:"evicted"`    // counters below their limit that were forgotten for lack of space
	Overflowed uint64 `json:"overflowed"` // decisions made from shared cells for lack of space: they may refuse too early

	DenyCacheEntries  int64  `json:"denyCacheEntries"`  // refusals remembered
	DenyCacheCapacity int64  `json:"denyCacheCapacity"` // the bound of DenyCacheEntries, 0 without a deny cache
	DenyCacheHits     uint64 `json:"denyCacheHits"`     // batches refused from memory

	// SpentUnderError are units of batches that ended with an error although the server may have spent them, or has
	// spent them and could not take them back.
	SpentUnderError uint64 `json:"spentUnderError"`

	// Fallback is set by the store that storekit.WithFallback returns; all else is that of the store in front then.
	Fallback *FallbackStats `json:"fallback,omitempty"`
}

// FallbackStats is what a store in this process had to decide in place of another one.
type FallbackStats struct {
	Decided uint64 `json:"decided"` // batches that it has decided
	// Since is when the store in front first failed after its last answer, the zero time while it answers.
	Since time.Time `json:"since,omitzero"`
	// Cause is that failure, "" while Since is zero.
	Cause string `json:"cause,omitempty"`
}

// ServerStats is how a store fares with one server.
type ServerStats struct {
	Address string `json:"address"` // host:port or the path of a socket, as the client library dials it

	// Healthy is false while the store does not send its ordinary calls to the server, but single probes.
	Healthy bool `json:"healthy"`
	// Since is when the first call succeeded after the last outage, or at all; if not Healthy, when the failures began.
	// It is the zero time before the first answer.
	Since time.Time `json:"since,omitzero"`
	// Cause is the first error of the outage, "" while Healthy.
	Cause string `json:"cause,omitempty"`
	// NextProbe is when the store asks again, the zero time while Healthy.
	NextProbe time.Time `json:"nextProbe,omitzero"`

	Calls   uint64 `json:"calls"`   // flights sent to the server
	Failed  uint64 `json:"failed"`  // those of Calls that ended without an answer that decides
	Callers uint64 `json:"callers"` // batches that these flights carried: Callers/Calls is the mean size of a flight
	Waiting int64  `json:"waiting"` // batches that wait for an answer now

	// FlightSizes counts flights by the number of their batches: up to 1, 2, 4, 8, 16, 32, 64, 128, and more. Its sum
	// is Calls.
	FlightSizes [9]uint64 `json:"flightSizes"`
}
