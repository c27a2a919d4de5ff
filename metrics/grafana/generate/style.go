package main

import "cmp"

// columns is the width of a dashboard.
const columns = 24

var prometheus = datasource{Type: "prometheus", UID: "${datasource}"}

const runbook = "https://github.com/httplimit/httplimit/blob/main/docs/operating.md"

// newDashboard lays the rows out.
func newDashboard(rows []row) dashboard {
	d := dashboard{
		UID:   "httplimit",
		Title: "httplimit",
		Description: "Rate limits of services with httplimit. Its metrics are those of promlimit; the alerts that go with " +
			"it stand in alerts.yaml, and what to do in docs/operating.md.",
		Tags:          []string{"httplimit", "rate limiting"},
		SchemaVersion: schemaVersion,
		Version:       1,
		Editable:      true,
		GraphTooltip:  1,
		Refresh:       "30s",
		Timezone:      "browser",
		Time:          timeRange{"now-1h", "now"},
		Templating: templating{[]variable{
			{
				Name: "datasource", Label: "Data source", Type: "datasource", Query: "prometheus", Refresh: 1,
				Current: map[string]any{}, Options: []any{},
			},
			labelVariable("job", "Job", `label_values(httplimit_requests_total, job)`),
			labelVariable("rule", "Rule", `label_values(httplimit_decisions_total{job=~"$job"}, rule)`),
		}},
		Annotations: annotations{[]annotation{{
			Name: "Alerts", Datasource: prometheus, Enable: true, IconColor: "red", Step: "30s",
			Expr:        `ALERTS{alertname=~"Httplimit.+", alertstate="firing", job=~"$job"}`,
			TitleFormat: "{{alertname}}", TextFormat: "{{namespace}} {{rule}} {{store}} {{server}}",
		}}},
		Links: []link{{
			Title: "What to do", Type: "link", URL: runbook, Icon: "doc", Tags: []string{}, TargetBlank: true,
			Tooltip: "What to alarm on, what the log says, and what to do when an alert fires",
		}},
	}
	id, y := 0, 0
	for _, r := range rows {
		id++
		d.Panels = append(d.Panels, rowPanel{
			ID: id, Type: "row", Title: r.title, GridPos: gridPos{1, columns, 0, y}, Panels: []any{},
		})
		y++
		x, height := 0, 0
		for _, s := range r.panels {
			if x+s.width > columns {
				x, y, height = 0, y+height, 0
			}
			id++
			h := s.height()
			d.Panels = append(d.Panels, s.panel(id, gridPos{h, s.width, x, y}))
			x, height = x+s.width, max(height, h)
		}
		y += height
	}
	return d
}

// labelVariable is a choice of any number of a label's values, all of them at first.
func labelVariable(name, label, query string) variable {
	return variable{
		Name: name, Label: label, Type: "query", Datasource: &prometheus, Definition: query,
		Query:   variableQuery{QryType: 1, Query: query, RefID: "PrometheusVariableQueryEditor-VariableQuery"},
		Refresh: 2, Sort: 1, IncludeAll: true, AllValue: ".+", Multi: true, Options: []any{},
		Current: map[string]any{"text": []string{"All"}, "value": []string{"$__all"}},
	}
}

func (s *shown) height() int {
	if s.kind == number {
		return numberAt
	}
	return pictured
}

func (s *shown) panel(id int, at gridPos) panel {
	p := panel{
		ID: id, Type: types[s.kind], Title: s.title, Description: s.description, Datasource: prometheus, GridPos: at,
		FieldConfig: fieldConfig{Overrides: []any{}, Defaults: s.defaults()},
		Options:     s.options(),
	}
	latest := s.kind == bars || s.kind == listing
	format := "time_series"
	if s.kind == listing {
		format = "table"
		p.Transformations = []map[string]any{{"id": "organize", "options": map[string]any{
			"excludeByName": map[string]any{"Time": true},
			"indexByName":   map[string]any{"namespace": 0, "rule": 1, "limit": 2, "Value": 3},
			"renameByName":  map[string]any{"Value": "units per window"},
		}}}
	}
	for i, q := range s.queries {
		p.Targets = append(p.Targets, target{
			RefID: string(rune('A' + i)), Datasource: prometheus, EditorMode: "code", Expr: q.expr,
			LegendFormat: q.legend, Format: format, Instant: latest, Range: !latest,
		})
	}
	return p
}

// types are Grafana's panels.
var types = map[kind]string{
	number: "stat", lines: "timeseries", stacked: "timeseries", states: "state-timeline", bars: "bargauge",
	listing: "table",
}

func (s *shown) defaults() fieldDefaults {
	zero := 0.0
	f := fieldDefaults{
		Unit: s.unit, Min: &zero, NoValue: cmp.Or(s.none, "0"), Mappings: []any{},
		Color:      map[string]any{"mode": "palette-classic"},
		Thresholds: thresholds{"absolute", s.steps()},
	}
	if s.most > 0 {
		f.Max = &s.most
	}
	switch s.kind {
	case number, states:
		f.Color = map[string]any{"mode": "thresholds"}
	case bars:
		f.Color = map[string]any{"mode": "fixed", "fixedColor": "blue"}
	}
	switch s.kind {
	case lines, stacked:
		f.Custom = s.curve()
	case states:
		f.Custom = map[string]any{"fillOpacity": 80, "lineWidth": 0}
	}
	return f
}

// curve is how lines are drawn.
func (s *shown) curve() map[string]any {
	stacking, opacity := "none", 10
	if s.kind == stacked {
		stacking, opacity = "normal", 40
	}
	style := "off"
	if s.warn > 0 || s.alarm > 0 {
		style = "dashed"
	}
	return map[string]any{
		"drawStyle": "line", "lineInterpolation": "linear", "lineWidth": 1, "fillOpacity": opacity,
		"showPoints": "never", "spanNulls": false, "axisSoftMin": 0,
		"stacking":        map[string]any{"mode": stacking, "group": "A"},
		"thresholdsStyle": map[string]any{"mode": style},
	}
}

func (s *shown) steps() []step {
	steps := []step{{"green", nil}}
	if s.warn > 0 {
		steps = append(steps, step{"yellow", &s.warn})
	}
	switch one := 1.0; {
	case s.alarm > 0:
		steps = append(steps, step{"red", &s.alarm})
	case s.kind == states:
		steps = append(steps, step{"red", &one})
	}
	return steps
}

func (s *shown) options() map[string]any {
	latest := map[string]any{"calcs": []string{"lastNotNull"}, "fields": "", "values": false}
	tooltip := map[string]any{"mode": "multi", "sort": "desc"}
	hidden := map[string]any{"showLegend": false, "displayMode": "list", "placement": "bottom", "calcs": []string{}}
	switch s.kind {
	case number:
		return map[string]any{
			"reduceOptions": latest, "colorMode": "background", "graphMode": "area", "textMode": "auto",
			"justifyMode": "auto", "orientation": "auto", "wideLayout": true,
			"showPercentChange": false, "percentChangeColorMode": "standard",
		}
	case states:
		return map[string]any{
			"mergeValues": true, "showValue": "auto", "rowHeight": 0.8, "alignValue": "left", "tooltip": tooltip,
			"legend": hidden,
		}
	case bars:
		return map[string]any{
			"reduceOptions": latest, "displayMode": "gradient", "orientation": "horizontal", "showUnfilled": true,
			"valueMode": "color", "namePlacement": "auto", "sizing": "auto", "minVizHeight": 16, "minVizWidth": 8,
			"maxVizHeight": 300,
			"legend":       hidden,
		}
	case listing:
		return map[string]any{"showHeader": true, "cellHeight": "sm"}
	}
	return map[string]any{
		"tooltip": tooltip,
		"legend": map[string]any{
			"showLegend": true, "displayMode": "table", "placement": "bottom", "calcs": []string{"lastNotNull", "max"},
		},
	}
}
