package main

// What a dashboard of Grafana is made of, as far as this one needs it: the classic model, in the version of Grafana 12.

const schemaVersion = 41

type dashboard struct {
	UID           string      `json:"uid"`
	Title         string      `json:"title"`
	Description   string      `json:"description"`
	Tags          []string    `json:"tags"`
	SchemaVersion int         `json:"schemaVersion"`
	Version       int         `json:"version"`
	Editable      bool        `json:"editable"`
	GraphTooltip  int         `json:"graphTooltip"` // 1: one cross-hair for all panels
	Refresh       string      `json:"refresh"`
	Timezone      string      `json:"timezone"`
	Time          timeRange   `json:"time"`
	Templating    templating  `json:"templating"`
	Annotations   annotations `json:"annotations"`
	Links         []link      `json:"links"`
	Panels        []any       `json:"panels"` // rowPanel and panel
}

type timeRange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type link struct {
	Title       string   `json:"title"`
	Type        string   `json:"type"`
	URL         string   `json:"url"`
	Icon        string   `json:"icon"`
	Tooltip     string   `json:"tooltip"`
	Tags        []string `json:"tags"`
	TargetBlank bool     `json:"targetBlank"`
	AsDropdown  bool     `json:"asDropdown"`
	IncludeVars bool     `json:"includeVars"`
	KeepTime    bool     `json:"keepTime"`
}

type templating struct {
	List []variable `json:"list"`
}

type variable struct {
	Name       string      `json:"name"`
	Label      string      `json:"label"`
	Type       string      `json:"type"`
	Datasource *datasource `json:"datasource,omitempty"`
	Definition string      `json:"definition,omitempty"`
	Query      any         `json:"query"`
	Refresh    int         `json:"refresh"` // 1: when the dashboard is opened; 2: when its time changes, too
	Sort       int         `json:"sort"`    // 1: by name
	IncludeAll bool        `json:"includeAll"`
	AllValue   string      `json:"allValue,omitempty"`
	Multi      bool        `json:"multi"`
	Current    any         `json:"current"`
	Options    []any       `json:"options"`
	Regex      string      `json:"regex"`
	Hide       int         `json:"hide"`
}

type variableQuery struct {
	QryType int    `json:"qryType"` // 1: values of a label
	Query   string `json:"query"`
	RefID   string `json:"refId"`
}

type annotations struct {
	List []annotation `json:"list"`
}

type annotation struct {
	Name        string     `json:"name"`
	Datasource  datasource `json:"datasource"`
	Enable      bool       `json:"enable"`
	Hide        bool       `json:"hide"`
	IconColor   string     `json:"iconColor"`
	Expr        string     `json:"expr"`
	Step        string     `json:"step"`
	TitleFormat string     `json:"titleFormat"`
	TextFormat  string     `json:"textFormat"`
}

type datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

type gridPos struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

type rowPanel struct {
	ID        int     `json:"id"`
	Type      string  `json:"type"`
	Title     string  `json:"title"`
	GridPos   gridPos `json:"gridPos"`
	Collapsed bool    `json:"collapsed"`
	Panels    []any   `json:"panels"`
}

type panel struct {
	ID              int              `json:"id"`
	Type            string           `json:"type"`
	Title           string           `json:"title"`
	Description     string           `json:"description"`
	Datasource      datasource       `json:"datasource"`
	GridPos         gridPos          `json:"gridPos"`
	FieldConfig     fieldConfig      `json:"fieldConfig"`
	Options         map[string]any   `json:"options"`
	Targets         []target         `json:"targets"`
	Transformations []map[string]any `json:"transformations,omitempty"`
}

type target struct {
	RefID        string     `json:"refId"`
	Datasource   datasource `json:"datasource"`
	EditorMode   string     `json:"editorMode"`
	Expr         string     `json:"expr"`
	LegendFormat string     `json:"legendFormat"`
	Format       string     `json:"format"`
	Instant      bool       `json:"instant"`
	Range        bool       `json:"range"`
}

type fieldConfig struct {
	Defaults  fieldDefaults `json:"defaults"`
	Overrides []any         `json:"overrides"`
}

type fieldDefaults struct {
	Unit       string         `json:"unit"`
	Decimals   *int           `json:"decimals,omitempty"`
	Min        *float64       `json:"min,omitempty"`
	Max        *float64       `json:"max,omitempty"`
	NoValue    string         `json:"noValue,omitempty"`
	Color      map[string]any `json:"color"`
	Thresholds thresholds     `json:"thresholds"`
	Mappings   []any          `json:"mappings"`
	Custom     map[string]any `json:"custom,omitempty"`
}

type thresholds struct {
	Mode  string `json:"mode"`
	Steps []step `json:"steps"`
}

type step struct {
	Color string   `json:"color"`
	Value *float64 `json:"value"` // null: from the beginning
}
