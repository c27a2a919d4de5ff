// Command write writes the log of docs/planning.md to standard output.
package main

import (
	"fmt"
	"os"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/shoplog"
)

func main() {
	if err := shoplog.Write(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
