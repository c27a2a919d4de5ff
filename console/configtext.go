package console

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/httplimit/httplimit"
)

// configText is the configuration of one Middleware, written as a policy file.
type configText struct {
	Title string `json:"title"`
	Store string `json:"store"`
	Note  string `json:"note,omitempty"`
	Text  string `json:"text"`
}

type policyFile struct {
	Namespace string       `json:"namespace,omitempty"`
	Headers   string       `json:"headers,omitempty"`
	Instances int          `json:"instances,omitempty"`
	Rules     []policyRule `json:"rules"`
}

type policyRule struct {
	Name        string            `json:"name"`
	Key         string            `json:"key"`
	NoKey       string            `json:"noKey,omitempty"`
	Limit       string            `json:"limit"`
	Plans       map[string]string `json:"plans,omitempty"`
	Shadow      bool              `json:"shadow,omitempty"`
	Percent     int               `json:"percent,omitempty"`
	Private     bool              `json:"private,omitempty"`
	InFlight    bool              `json:"inFlight,omitempty"`
	Failure     string            `json:"failure,omitempty"`
	Ban         *policyBan        `json:"ban,omitempty"`
	When        []string          `json:"when,omitempty"`
	CountStatus string            `json:"countStatus,omitempty"`
}

type policyBan struct {
	After  int64  `json:"after"`
	Within string `json:"within"`
	For    string `json:"for"`
}

// configTexts writes the configurations in force.
func (c *Console) configTexts(o *overview) []configText {
	all := []configText{}
	for i := range o.watch.configs {
		cfg := &o.watch.configs[i]
		if cfg.Store == nil {
			continue // the zero Middleware
		}
		file, functions := policyOf(cfg)
		text, err := json.MarshalIndent(file, "", "  ")
		if err != nil {
			continue // texts and numbers always have a JSON
		}
		one := configText{Title: fmt.Sprintf("Middleware %d", i+1), Text: string(text)}
		if cfg.Namespace != "" {
			one.Title += ", namespace " + cfg.Namespace
		}
		for _, s := range o.watch.stores {
			if sameStore(s.store, cfg.Store) {
				one.Store = "counts in " + s.name
			}
		}
		if len(functions) > 0 {
			one.Note = "Functions of the program have no text: " + strings.Join(functions, "; ") + "."
		}
		all = append(all, one)
	}
	return all
}

// policyOf returns a configuration as a policy, and what of it is a function.
func policyOf(cfg *httplimit.Config) (file policyFile, functions []string) {
	file.Namespace = cfg.Namespace
	if cfg.Instances > 1 {
		file.Instances = cfg.Instances
	}
	for i := range cfg.Rules {
		r := &cfg.Rules[i]
		one := policyRule{
			Name: r.Name, Key: fmt.Sprint(r.Key), Limit: r.Limit.String(), Shadow: r.Shadow, Percent: r.Percent,
			Private: r.Private, InFlight: r.InFlight,
		}
		if r.NoKey != nil {
			one.NoKey = fmt.Sprint(r.NoKey)
		}
		if r.Failure != httplimit.FailLocal {
			one.Failure = r.Failure.String()
		}
		for k, plan := range r.Plans {
			if one.Plans == nil {
				one.Plans = make(map[string]string)
			}
			one.Plans[fmt.Sprintf("plan-%d", k+1)] = plan.String()
		}
		if r.Ban != (httplimit.Ban{}) {
			one.Ban = &policyBan{r.Ban.After, short(r.Ban.Within), short(r.Ban.For)}
		}
		file.Rules = append(file.Rules, one)
		if of := functionsOf(r); len(of) > 0 {
			functions = append(functions, fmt.Sprintf("%s has %s", r.Name, strings.Join(of, ", ")))
		}
	}
	return file, functions
}

func functionsOf(r *httplimit.Rule) (names []string) {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"LimitFunc", r.LimitFunc != nil}, {"Cost", r.Cost != nil}, {"When", r.When != nil},
		{"CountStatus", r.CountStatus != nil},
	} {
		if f.set {
			names = append(names, f.name)
		}
	}
	return names
}

// short writes a duration without what is zero: 10m, 1h30m.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}
