// Generate writes the dashboard of metrics/grafana. What it shows stands in panels.go, Grafana's form of it in
// schema.go and style.go.
package main

//go:generate go run . ../httplimit.json

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: generate FILE.json")
	}
	text, err := dashboardJSON()
	if err == nil {
		err = os.WriteFile(os.Args[1], text, 0o644)
	}
	if err != nil {
		log.Fatal(fmt.Errorf("generate: %w", err))
	}
}

// dashboardJSON returns the dashboard as Grafana imports it.
func dashboardJSON() ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false) // queries have < and >, and are to be found by them
	err := encoder.Encode(newDashboard(rows))
	return text.Bytes(), err
}
