package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

var versionText = regexp.MustCompile(`^v(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})$`)

// parseVersion reads vMAJOR.MINOR.PATCH. Tags of nested modules and of pre-releases are none.
func parseVersion(text string) (v [3]int, ok bool) {
	parts := versionText.FindStringSubmatch(text)
	if parts == nil {
		return v, false
	}
	for i := range v {
		v[i], _ = strconv.Atoi(parts[i+1]) // nine digits at the most
	}
	return v, true
}

func older(a, b [3]int) bool { return slices.Compare(a[:], b[:]) < 0 }

// nextMinor returns the minor version after the newest of the tags, v0.1.0 without any.
func nextMinor(tags []string) string {
	var newest [3]int
	for _, tag := range tags {
		if v, ok := parseVersion(tag); ok && older(newest, v) {
			newest = v
		}
	}
	return fmt.Sprintf("v%d.%d.0", newest[0], newest[1]+1)
}
