package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestTheFileIsWhatIsGenerated(t *testing.T) {
	want, err := dashboardJSON()
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, "../httplimit.json"); !bytes.Equal(got, want) {
		t.Error("httplimit.json is not what panels.go says: run go generate ./metrics/grafana/generate")
	}
}

// Grafana moves panels that overlap, and expects numbers to be unique.
func TestPanelsHavePlacesOfTheirOwn(t *testing.T) {
	taken, ids := make(map[[2]int]string), make(map[int]bool)
	place := func(id int, title string, at gridPos) {
		if ids[id] || id == 0 {
			t.Errorf("%s: number %d is another panel's", title, id)
		}
		ids[id] = true
		if at.X+at.W > columns {
			t.Errorf("%s: it ends in column %d, want %d at most", title, at.X+at.W, columns)
		}
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				if other, found := taken[[2]int{x, y}]; found {
					t.Fatalf("%s overlaps %s", title, other)
				}
				taken[[2]int{x, y}] = title
			}
		}
	}
	for _, one := range newDashboard(rows).Panels {
		switch p := one.(type) {
		case rowPanel:
			place(p.ID, p.Title, p.GridPos)
		case panel:
			place(p.ID, p.Title, p.GridPos)
		}
	}
}

func TestPanelsSayWhatTheyShow(t *testing.T) {
	units := map[string]bool{"reqps": true, "percentunit": true, "short": true, "s": true, "cps": true}
	titles := make(map[string]bool)
	for _, r := range rows {
		for _, s := range r.panels {
			if titles[s.title] {
				t.Errorf("two panels are named %s", s.title)
			}
			titles[s.title] = true
			if !strings.HasSuffix(s.description, ".") || len(s.description) < 60 {
				t.Errorf("%s: the description is %q, want what it means and what to do", s.title, s.description)
			}
			if !units[s.unit] {
				t.Errorf("%s: the unit is %q, want one of %v", s.title, s.unit, units)
			}
			for _, q := range s.queries {
				if !strings.Contains(q.expr, `job=~"$job"`) {
					t.Errorf("%s: does not heed the choice of jobs: %s", s.title, q.expr)
				}
				ofRules := regexp.MustCompile(`httplimit_(decisions|cost|refunded|near_limit|rule)`).MatchString(q.expr)
				if ofRules && !strings.Contains(q.expr, `rule=~"$rule"`) {
					t.Errorf("%s: does not heed the choice of rules: %s", s.title, q.expr)
				}
				if many := s.kind != number && s.kind != listing; many && q.legend == "" {
					t.Errorf("%s: a query has no legend: %s", s.title, q.expr)
				}
			}
		}
	}
}

// All metrics are in promlimit's table, whose test holds it against what is scraped.
func TestMetricsAreThoseOfPromlimit(t *testing.T) {
	known := make(map[string]bool)
	row := regexp.MustCompile("(?m)^\\| `(httplimit_\\w+)` \\| (\\w+)")
	for _, metric := range row.FindAllSubmatch(read(t, "../../prometheus/README.md"), -1) {
		name := string(metric[1])
		known[name] = true
		if string(metric[2]) == "histogram" {
			known[name+"_bucket"], known[name+"_sum"], known[name+"_count"] = true, true, true
		}
	}
	others := map[string]bool{"redis_evicted_keys_total": true, "memcached_items_evicted_total": true} // of exporters
	for _, file := range []string{"../httplimit.json", "../alerts.yaml"} {
		names := regexp.MustCompile(`\b(httplimit|redis|memcached)_\w+`).FindAll(read(t, file), -1)
		if len(names) == 0 {
			t.Errorf("%s: no metrics", file)
		}
		for _, name := range names {
			if !known[string(name)] && !others[string(name)] && !bytes.HasSuffix(name, []byte("_exporter")) {
				t.Errorf("%s: %s is not a metric that anybody has", file, name)
			}
		}
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
