// Command write writes the page, the table and the JSON of every sample report into a folder, to be looked at.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/report"
	"github.com/httplimit/httplimit/cmd/httplimit/internal/report/sample"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: write FOLDER")
		os.Exit(1)
	}
	for name, data := range sample.All() {
		if err := writeAll(filepath.Join(os.Args[1], name), data); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func writeAll(base string, data report.Data) error {
	forms := map[string]func(io.Writer) error{
		".html":   func(w io.Writer) error { return report.WriteHTML(w, data) },
		".json":   func(w io.Writer) error { return report.WriteJSON(w, data) },
		".80.txt": func(w io.Writer) error { return report.WriteTable(w, data, report.Style{}) },
		".120.txt": func(w io.Writer) error {
			return report.WriteTable(w, data, report.Style{Width: 120, Color: true})
		},
	}
	for suffix, write := range forms {
		file, err := os.Create(base + suffix)
		if err != nil {
			return err
		}
		if err := write(file); err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	return nil
}
