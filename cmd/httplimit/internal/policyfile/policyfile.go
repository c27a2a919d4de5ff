// Package policyfile reads policies from files: JSON, or YAML of the same names. Faults are told with the name of the
// file in front, as compilers tell them, so that editors and CI find their places.
package policyfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/httplimit/httplimit/policy"
)

// Stdin is the name of standard input.
const Stdin = "-"

// mostBytes is far more than a policy of a thousand rules has.
const mostBytes = 1 << 20

// Read reads the policy in a file, or in stdin if its name is "-" and there is one. The error has a line for each
// fault: `policy.yaml:4:12: rules[1] "login".limit: ...`.
func Read(name string, stdin io.Reader) (*policy.Policy, error) {
	text, err := readText(name, stdin)
	if err != nil {
		return nil, err
	}
	if name == Stdin {
		name = "standard input"
	}
	read := policy.Parse
	if isYAML(name, text) {
		read = parseYAML
	}
	p, err := read(text)
	if err != nil {
		return nil, named(name, err)
	}
	return p, nil
}

func readText(name string, stdin io.Reader) ([]byte, error) {
	from := stdin
	if name != Stdin || stdin == nil {
		f, err := os.Open(name)
		if err != nil {
			return nil, fileError(name, err)
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, mostBytes+1))
	if err != nil {
		return nil, fileError(name, err)
	}
	if len(text) > mostBytes {
		return nil, fmt.Errorf("%s: it has more than %d bytes, which no policy needs: is it another file?", name, mostBytes)
	}
	return text, nil
}

// fileError returns an error without the name of the system's call in it.
func fileError(name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// isYAML goes by the ending of the name, else by the brace with which a policy in JSON begins.
func isYAML(name string, text []byte) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml":
		return true
	case ".json":
		return false
	}
	return !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{"))
}

// named puts the name of the file before each fault.
func named(name string, err error) error {
	faults := policy.Faults(err)
	if len(faults) == 0 {
		return fmt.Errorf("%s: %w", name, err)
	}
	list := make([]error, len(faults))
	for i, fault := range faults {
		separator := ":" // name:line:column: what is wrong
		if fault.Line == 0 {
			separator = ": "
		}
		list[i] = errors.New(name + separator + fault.Text())
	}
	return errors.Join(list...)
}
