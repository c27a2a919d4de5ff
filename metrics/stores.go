package metrics

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/httplimit/httplimit/limiter"
)

// Store is how a store is doing. Its numbers begin at zero when the store is made, so they fall where a Reconfigure
// replaces it.
type Store struct {
	// Label is the Name of the store's Config, or its type and a number, such as "memstore-1", which may become that of
	// another store when a Reconfigure replaces one. It is no other store's: of several stores of one Name the second is
	// "name-2".
	Label string
	limiter.StoreStats
}

// CountsHere reports whether Entries and what belongs to it mean something: the store counts in this process.
func (s *Store) CountsHere() bool { return s.Capacity > 0 || s.Entries > 0 }

// storeList are stores, each once.
type storeList struct {
	list []Store
	kept []limiter.Store // under all wrappers, in the order of list
}

// maxWrappers is more than anybody puts around a store. One that unwraps to itself ends the search, too.
const maxWrappers = 8

// add adds a store. What is in wrappers twice, or in one of several, is one.
func (l *storeList) add(store limiter.Store) {
	var reporter limiter.StatsReporter // the outermost
	for range maxWrappers {
		if r, reports := store.(limiter.StatsReporter); reports && reporter == nil {
			reporter = r
		}
		wrapper, wraps := store.(interface{ Unwrap() limiter.Store })
		if !wraps {
			break
		}
		store = wrapper.Unwrap()
	}
	if reporter == nil || slices.ContainsFunc(l.kept, func(other limiter.Store) bool { return same(store, other) }) {
		return
	}
	l.kept = append(l.kept, store)
	l.list = append(l.list, Store{StoreStats: statsOf(reporter)})
}

// same reports whether two stores are one: where that cannot be known, as of structs with slices, they are not.
func same(a, b limiter.Store) bool {
	return a != nil && b != nil && reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.ValueOf(a).Comparable() && a == b
}

// statsOf asks a store that may panic: then nothing is known of it.
func statsOf(r limiter.StatsReporter) (stats limiter.StoreStats) {
	defer func() {
		if recover() != nil {
			stats = limiter.StoreStats{}
		}
	}()
	stats = r.Stats()
	stats.Servers = mergeServers(stats.Servers)
	return stats
}

// mergeServers makes one of servers of one address, as series of metrics have to be unique.
func mergeServers(servers []limiter.ServerStats) (merged []limiter.ServerStats) {
	for _, s := range servers {
		s.Address = strings.ToValidUTF8(s.Address, "?")
		i := slices.IndexFunc(merged, func(other limiter.ServerStats) bool { return other.Address == s.Address })
		if i < 0 {
			merged = append(merged, s)
			continue
		}
		one := &merged[i]
		one.Healthy = one.Healthy && s.Healthy
		one.Calls, one.Failed, one.Callers = one.Calls+s.Calls, one.Failed+s.Failed, one.Callers+s.Callers
		one.Waiting += s.Waiting
		for j := range one.FlightSizes {
			one.FlightSizes[j] += s.FlightSizes[j]
		}
	}
	return merged
}

// label gives every store a label of its own.
func (l *storeList) label() {
	taken, numbers := make(map[string]bool), make(map[string]int)
	for i := range l.list {
		if name := cleanName(l.list[i].Name); name != "" && !taken[name] {
			l.list[i].Label, taken[name] = name, true
		}
	}
	for i := range l.list {
		s := &l.list[i]
		if s.Label != "" {
			continue
		}
		name := cleanName(s.Name)
		if name == "" {
			name = typeOf(l.kept[i])
		} else if numbers[name] == 0 {
			numbers[name] = 1 // the first one of this Name goes without
		}
		for s.Label == "" || taken[s.Label] {
			numbers[name]++
			s.Label = fmt.Sprintf("%s-%d", name, numbers[name])
		}
		taken[s.Label] = true
	}
}

// cleanName returns a name as a label can have it.
func cleanName(name string) string { return strings.ToValidUTF8(name, "?") }

// typeOf returns the name of a store's type, such as "memstore" for *memstore.Store.
func typeOf(store limiter.Store) string {
	return strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", store), "*"), ".Store")
}
