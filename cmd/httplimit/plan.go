package main

import (
	"fmt"
	"io"
)

// plan replays access logs against a policy.
func plan(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	fmt.Fprintln(stderr, "httplimit plan: not there yet")
	return exitFault
}
