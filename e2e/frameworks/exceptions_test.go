package frameworks_test

import (
	"slices"
	"strings"
	"testing"
)

// exception is where a framework's own way shows: in one scenario, what stands in old becomes new.
type exception struct {
	frameworks []string
	scenario   string
	old, new   string
	reason     string
}

// exceptions are all of them, but for two that no script shows: the body of an error that is not ours is worded by the
// framework, and Fiber runs no handler, so refuses nothing, before it has read the body, unless it has
// StreamRequestBody.
func exceptions() []exception {
	return []exception{{
		[]string{"Gin", "Echo", "Echo 5", "Fiber", "Fiber 3"}, "route as a key", "/items/%7Bid%7D", "/items/:id",
		"a pattern is spelled as the framework spells it",
	}, {
		[]string{"toy"}, "route as a key", "/items/%7Bid%7D", "/items/%2A",
		"a pattern is spelled as the framework spells it",
	}, {
		[]string{"Fiber", "Fiber 3"}, "what a function sees", "Cookie%3Da%3D1%2Cb%3D2", "Cookie%3Da%3D1%3B%20b%3D2",
		"fasthttp makes one line of all cookies",
	}, {
		[]string{"Fiber", "Fiber 3", "toy"}, "client leaves before the answer", "1\ngone",
		"1\nsettled with 200\ntake /login 127.0.0.1 -1\ngone",
		"nobody reads from the connection while a handler runs, and one that writes nothing has answered 200",
	}, {
		[]string{"Fiber", "Fiber 3"}, "events", "force /tokens 127.0.0.1 2\nforce /tokens 127.0.0.1 2\nsettled with 200",
		"settled with 200\nforce /tokens 127.0.0.1 2\nforce /tokens 127.0.0.1 2",
		"a stream is written beside the handler, which returns",
	}}
}

// excepted returns the script as it is for the framework.
func excepted(t *testing.T, f framework, scenario string, script []string) []string {
	t.Helper()
	text := strings.Join(script, "\n")
	for _, e := range exceptions() {
		if e.scenario != scenario || !slices.Contains(e.frameworks, f.name) {
			continue
		}
		if !strings.Contains(text, e.old) {
			t.Errorf("the exception for %q of %s is of no use: there is no %q in\n%s", scenario, f.name, e.old, text)
		}
		text = strings.ReplaceAll(text, e.old, e.new)
	}
	return strings.Split(text, "\n")
}
