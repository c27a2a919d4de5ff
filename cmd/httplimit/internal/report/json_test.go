package report_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/report"
	"github.com/httplimit/httplimit/cmd/httplimit/internal/report/sample"
)

type object = map[string]any

func decoded(t *testing.T, data report.Data) object {
	t.Helper()
	var out bytes.Buffer
	if err := report.WriteJSON(&out, data); err != nil {
		t.Fatal(err)
	}
	var got object
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// These names are what programs rely on.
func TestJSONNames(t *testing.T) {
	got := decoded(t, sample.All()["day"])
	rule := got["rules"].([]any)[0].(object)
	for name, it := range map[string]struct {
		object object
		names  []string
	}{
		"report": {got, []string{"version", "input", "rules"}},
		"input": {got["input"].(object),
			[]string{"files", "lines", "parsed", "bad", "format", "from", "to", "clients", "warnings"}},
		"rule":       {rule, []string{"name", "limit", "requests", "refused", "clients", "clientsRefused", "suggestion"}},
		"suggestion": {rule["suggestion"].(object), []string{"limit", "refused", "clientsRefused", "clients"}},
	} {
		for _, field := range it.names {
			if it.object[field] == nil {
				t.Errorf("%s has no %q: %v", name, field, it.object)
			}
		}
	}
	if got["version"] != 1.0 || got["policy"] != "policy.json" {
		t.Errorf("got version %v of %v, want 1 of policy.json", got["version"], got["policy"])
	}
	suggestion := rule["suggestion"].(object)
	if rule["limit"] != "30/m" || suggestion["limit"] != "100/m" || suggestion["clients"] != 4200.0 {
		t.Errorf("rule is %v, want 30/m and 100/m on 4,200 clients", rule)
	}
}

func TestJSONOfWhatIsNotThere(t *testing.T) {
	nothing := decoded(t, report.Data{})
	input := nothing["input"].(object)
	if input["from"] != nil || input["to"] != nil || input["warnings"] == nil || nothing["rules"] == nil {
		t.Errorf("got %v, want times null, lists empty", nothing)
	}
	rules := decoded(t, sample.All()["leftout"])["rules"].([]any)
	left := rules[slices.IndexFunc(rules, func(r any) bool { return r.(object)["name"] == "export" })].(object)
	if left["suggestion"] != nil || left["leftOut"] == nil || left["noSuggestion"] != "the rule was left out" {
		t.Errorf("got %v, want no suggestion, and why", left)
	}
}
