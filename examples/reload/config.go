package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// config returns the rules as they are written here, with the limits of the file. What a rule counts is set in Go,
// where it is compiled and reviewed; operators change the numbers.
func config(file string) (httplimit.Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return httplimit.Config{}, err
	}
	rules := []httplimit.Rule{
		{Name: "api", Key: httplimit.ClientIP(), Limit: limiter.PerMinute(60)},
		{Name: "search", Key: httplimit.ClientIP(), Limit: limiter.PerMinute(10), When: isSearch},
	}
	if err := merge(rules, text); err != nil {
		return httplimit.Config{}, fmt.Errorf("%s: %w", file, err)
	}
	return httplimit.Config{Rules: rules}, nil
}

func isSearch(r *http.Request) bool { return r.URL.Path == "/search" }

// merge replaces the limits of rules that text names, such as {"api":"100/m"}. The error joins every fault in text;
// after it rules must not be used.
func merge(rules []httplimit.Rule, text []byte) error {
	var entries map[string]json.RawMessage // one by one: Unmarshal into limits would end at the first fault
	if err := json.Unmarshal(text, &entries); err != nil {
		return err
	}
	var faults []error
	for i := range rules {
		entry, named := entries[rules[i].Name]
		delete(entries, rules[i].Name)
		if !named {
			continue
		}
		limit := &rules[i].Limit
		if err := json.Unmarshal(entry, &limit); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", rules[i].Name, err))
		} else if limit == nil { // some would mean no limit by it, some the one in Go
			faults = append(faults, fmt.Errorf("%s: null is no limit", rules[i].Name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		faults = append(faults, fmt.Errorf("%s: there is no such rule", name)) // a misspelt name must not go unnoticed
	}
	return errors.Join(faults...)
}
