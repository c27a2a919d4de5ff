package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

// version prints the version of this module, that of Go, and the system.
func version(args []string, _ io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		fmt.Fprintln(stderr, "httplimit version: it takes no arguments")
		return exitFault
	}
	fmt.Fprintf(stdout, "httplimit %s %s %s/%s\n", moduleVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return exitOK
}

// moduleVersion returns the version of this module as go install knows it.
func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
