package prometheus_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/httplimit/httplimit/e2e/servers"
)

// asked is a query of the dashboard.
type asked struct{ panel, expr string }

// dashboardQueries reads the queries of the dashboard, as Grafana would send them with "All" chosen everywhere.
func dashboardQueries(t *testing.T) (all []asked) {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Annotations struct {
			List []struct{ Name, Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "httplimit.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	chosen := strings.NewReplacer("$job", ".+", "$rule", ".+", "$__rate_interval", window)
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			all = append(all, asked{p.Title, chosen.Replace(target.Expr)})
		}
	}
	for _, a := range dashboard.Annotations.List {
		all = append(all, asked{"annotation " + a.Name, chosen.Replace(a.Expr)})
	}
	for _, query := range all {
		if strings.Contains(query.expr, "$") {
			t.Errorf("%s: Grafana has no value for a variable in %s", query.panel, query.expr)
		}
	}
	return all
}

// labelsAsked reads what the dashboard's variables ask for: metrics by label.
func labelsAsked(t *testing.T) map[string]string {
	t.Helper()
	var dashboard struct {
		Templating struct {
			List []struct{ Name, Definition string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "httplimit.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	labels := make(map[string]string)
	values := regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)
	for _, v := range dashboard.Templating.List {
		if found := values.FindStringSubmatch(v.Definition); found != nil {
			labels[found[2]] = strings.ReplaceAll(found[1], "$job", ".+")
		}
	}
	return labels
}

// quickAlerts returns the alert rules with their minutes made seconds, and the names of the alerts.
func quickAlerts(t *testing.T) (rules string, names []string) {
	t.Helper()
	rules = read(t, "alerts.yaml")
	for _, found := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(rules, -1) {
		names = append(names, found[1])
	}
	rules = regexp.MustCompile(`for: \d+m`).ReplaceAllString(rules, "for: 1s")
	return regexp.MustCompile(`\[\d+m\]`).ReplaceAllString(rules, "["+window+"]"), names
}

// By their own minutes, and with nobody waiting: what promtool says of the rules, and of when they fire.
func TestPromtool(t *testing.T) {
	servers.RequireInstalled(t, "promtool")
	for _, arguments := range [][]string{
		{"check", "rules", "--lint=all", "--lint-fatal", "../../metrics/grafana/alerts.yaml"},
		{"test", "rules", "testdata/alerts.yaml"},
	} {
		if out, err := exec.CommandContext(t.Context(), "promtool", arguments...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(arguments, " "), err, out)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile("../../metrics/grafana/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
