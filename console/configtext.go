package console

import (
	"encoding/json"
	"fmt"

	"github.com/httplimit/httplimit/policy"
)

// configText is the configuration of one Middleware, written as a policy file.
type configText struct {
	Namespace string          `json:"namespace"`
	Store     string          `json:"store"`
	Policy    json.RawMessage `json:"policy"`
	Unsaid    []string        `json:"unsaid"` // what only the program knows

	Title string `json:"-"`
	Text  string `json:"-"`
}

// configTexts writes the configurations in force.
func (c *Console) configTexts(o *overview) []configText {
	all := []configText{}
	for i := range o.watch.configs {
		cfg := &o.watch.configs[i]
		if cfg.Store == nil {
			continue // the zero Middleware
		}
		said, unsaid := policy.Describe(*cfg)
		text, err := json.MarshalIndent(said, "", "  ")
		if err != nil {
			unsaid = append(unsaid, "it has no text as a policy: "+clip(err.Error()))
			text = []byte("null")
		}
		one := configText{
			Namespace: cfg.Namespace, Policy: text, Unsaid: append([]string{}, unsaid...),
			Title: fmt.Sprintf("Middleware %d", i+1), Text: string(text),
		}
		if cfg.Namespace != "" {
			one.Title += ", namespace " + cfg.Namespace
		}
		for _, s := range o.watch.stores {
			if sameStore(s.store, cfg.Store) {
				one.Store = s.name
			}
		}
		all = append(all, one)
	}
	return all
}
