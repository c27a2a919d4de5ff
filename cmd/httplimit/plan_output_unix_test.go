//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What is read is not overwritten by what is written.
func TestPlanKeepsItsInput(t *testing.T) {
	log := planLog(60, 30, true)
	at := folder(t, map[string]string{"policy.json": planPolicy, "access.log": log})
	if err := os.Symlink("access.log", at("link.log")); err != nil {
		t.Fatal(err)
	}
	for name, outputs := range map[string][]string{
		"the log":           {"-o", at("access.log")},
		"by a link":         {"-json", at("link.log")},
		"in another way":    {"-o", filepath.Dir(at("x")) + "/../" + filepath.Base(filepath.Dir(at("x"))) + "/access.log"},
		"the policy":        {"-json", at("policy.json")},
		"each other":        {"-o", at("out"), "-json", at("out")},
		"standard output":   {"-json", "-"},
		"standard output 2": {"-o", "-"},
	} {
		status, _, stderr := runPlan(t, "", append(append(outputs, "-policy", at("policy.json")), at("access.log"))...)
		if status != exitFault || !strings.Contains(stderr, outputs[len(outputs)-2]+": ") {
			t.Errorf("%s: the status is %d, want 1, and a sentence about the flag: %s", name, status, stderr)
		}
	}
	if got, err := os.ReadFile(at("access.log")); err != nil || string(got) != log {
		t.Errorf("the log is another one now: %v", err)
	}
	if _, err := os.Lstat("-"); err == nil {
		t.Error(`there is a file "-"`)
	}
}

// Links and pipes stay what they are; a new file is for those whom the umask lets, and nothing else is left behind.
func TestPlanOutput(t *testing.T) {
	at := folder(t, map[string]string{"policy.json": planPolicy, "access.log": planLog(60, 30, true), "old.html": "old"})
	if err := os.Symlink("old.html", at("link.html")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		text, _ := os.ReadFile(at("pipe"))
		read <- string(text)
	}()
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	status, _, stderr := runPlan(t, "", "-policy", at("policy.json"), "-o", at("link.html"), "-json", at("pipe"),
		at("access.log"))
	if status != exitOK {
		t.Fatalf("the status is %d: %s", status, stderr)
	}
	info, err := os.Lstat(at("pipe"))
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Fatalf("the pipe has become %v, %v", info.Mode(), err)
	}
	if text := <-read; !strings.Contains(text, `"version": 1`) {
		t.Errorf("through the pipe came %.50q", text)
	}
	if info, err := os.Lstat(at("link.html")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link has become %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(at("old.html")); err != nil || info.Mode().Perm() != 0o600 || info.Size() < 1000 {
		t.Errorf("the file behind the link is %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(at(".httplimit-*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}
