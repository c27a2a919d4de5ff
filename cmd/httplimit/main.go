// Httplimit checks policies, files that say how often each client may call a service, and tells what one would have
// done to the traffic in access logs.
//
// Data goes to standard output, errors to standard error. The exit status is 0; 1 for a bad command line, policy or
// file; 3 where -fail-above of the command plan is exceeded.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// The exit statuses of every command. 2 is left out: it is that of a Go program which panics.
const (
	exitOK    = 0
	exitFault = 1 // a bad command line, policy or file; standard error says which
	exitAbove = 3 // more was refused than -fail-above allows
)

// command is what the first argument chooses. run is given those behind it and returns the exit status.
type command struct {
	name, does string
	run        func(args []string, stdin io.Reader, stdout, stderr io.Writer) int
}

func commands() []command {
	return []command{
		{"check", "find every fault of policies, and tell what they say", check},
		{"plan", "tell what a policy would have done to the requests in access logs", plan},
		{"version", "print the version of this program", version},
	}
}

// printable returns a text with a dot in the place of each character that could move a terminal's cursor, or have a
// line read otherwise than it is: names of files, and of what a policy is for, can hold any.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return '·'
		}
		return r
	}, text)
}

// run is the program without its process.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		help(stderr)
		return exitFault
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		help(stdout)
		return exitOK
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c.run(args[1:], stdin, stdout, stderr)
		}
	}
	fmt.Fprintf(stderr, "httplimit: there is no command %.64q. See httplimit help.\n", args[0])
	return exitFault
}

const helpHead = `httplimit checks rate limit policies and plans them from access logs.

    httplimit check policy.json
    httplimit plan -policy policy.json -o report.html access.log
    zcat access.log.*.gz | httplimit plan -policy policy.json -fail-above 'login=0.5%' -

Commands:
`

const helpTail = `
httplimit COMMAND -h lists the flags of a command.
Exit status: 0; 1 for a bad command line, policy or file; 3 where -fail-above is exceeded.
`

func help(w io.Writer) {
	fmt.Fprint(w, helpHead)
	for _, c := range commands() {
		fmt.Fprintf(w, "    %-9s %s\n", c.name, c.does)
	}
	fmt.Fprint(w, helpTail)
}
