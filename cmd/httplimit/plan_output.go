package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// checkOutputs returns what is wrong with the names of the files to write: the command replaces what is there.
func (o *planOptions) checkOutputs() (errs []error) {
	taken := map[string]string{"the policy": o.policy}
	for i, name := range o.files {
		if name != "-" {
			taken[fmt.Sprintf("log %d", i+1)] = name
		}
	}
	for _, out := range []struct{ flag, name string }{{"-o", o.html}, {"-json", o.json}} {
		if out.name == "-" {
			errs = append(errs, fmt.Errorf("%s: on standard output stands the table, want the name of a file", out.flag))
			continue
		}
		for what, name := range taken {
			if isSameFile(out.name, name) {
				errs = append(errs, fmt.Errorf("%s: %s would be replaced, which is %s; want another file", out.flag, out.name,
					what))
				break
			}
		}
		taken["the file of "+out.flag] = out.name
	}
	return errs
}

// isSameFile reports whether two names are of one regular file, whether or not it is there yet.
func isSameFile(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	first, err := os.Stat(a)
	if err != nil {
		return filepath.Clean(a) == filepath.Clean(b)
	}
	second, err := os.Stat(b)
	return err == nil && first.Mode().IsRegular() && os.SameFile(first, second)
}

// writeFile writes a file as a whole or not at all; a device or a pipe it writes to, and where the name is a symbolic
// link it writes what that points to. Without a name it writes nothing.
func writeFile(name string, write func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	err := replaceFile(name, write)
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", name, reason(err))
	}
	return nil
}

func replaceFile(name string, write func(io.Writer) error) error {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		return writeTo(name, os.O_WRONLY, write)
	}
	if err == nil {
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return err
		}
	}
	temporary := filepath.Join(filepath.Dir(name), ".httplimit-"+rand.Text())
	defer os.Remove(temporary) // fails after the renaming, and then nothing is left to remove
	if err := writeTo(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, write); err != nil {
		return err
	}
	return os.Rename(temporary, name)
}

// writeTo opens a file, which one that is made lets read whom the umask lets.
func writeTo(name string, how int, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, how, 0o666)
	if err != nil {
		return err
	}
	err = write(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
