package examples_test

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// build compiles every example and returns the folder with the programs.
func build(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", folder, "./...").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return folder
}

// process is an example at work.
type process struct {
	cmd   *exec.Cmd
	url   string      // the first that it wrote
	lines chan string // those that it writes from then on; closed when it ends
}

// start runs a program, at most until the test has ended, and waits until it has written where it listens.
func start(t *testing.T, program string, flags ...string) *process {
	t.Helper()
	p := &process{cmd: exec.CommandContext(t.Context(), program, flags...), lines: make(chan string, 100)}
	p.cmd.Dir = ".."
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = p.cmd.Stdout
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	p.url = regexp.MustCompile(`http://[0-9.]+:[0-9]+`).FindString(p.await(t, "http://"))
	return p
}

// await returns the next line with text in it.
func (p *process) await(t *testing.T, text string) string {
	t.Helper()
	late := time.After(30 * time.Second) // far longer than any example takes for anything
	for {
		select {
		case line, more := <-p.lines:
			if !more {
				t.Fatalf("%s ended without a line with %q", p.cmd.Path, text)
			}
			if strings.Contains(line, text) {
				return line
			}
		case <-late:
			t.Fatalf("%s wrote no line with %q", p.cmd.Path, text)
		}
	}
}

// get sends a request with a bearer token, unless that is empty. The body is closed with the test.
func (p *process) get(t *testing.T, path, token string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// interrupt ends the program, and wants it to end well.
func (p *process) interrupt(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for range p.lines {
		// It has to be read to its end before Wait.
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("after an interrupt: got %v, want status 0", err)
	}
}
