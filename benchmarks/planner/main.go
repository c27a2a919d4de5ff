// Command planner measures `httplimit plan` on a combined log that it makes itself, beside `wc -l` and a loop that does
// nothing but split each line at its spaces: those say what the machine can do.
//
//	cd benchmarks && go run ./planner            # 1,000,000 lines of 50,000 clients, three rules
//	cd benchmarks && go run ./planner -clients 200000
//
// It makes each log twice as long for a second measurement, which shows that memory grows with clients and not with
// lines. Answers are checked: all lines are parsed, and each rule has seen the requests that it is for.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const policy = `{"rules": [
	{"name": "address", "key": "ip", "limit": "60/m"},
	{"name": "day", "key": "ip", "limit": "5000/d token-bucket"},
	{"name": "login", "key": "ip", "limit": "5/15m sliding-log", "when": ["POST /login"]}]}`

// goal is what issue and README promise for a million lines and three rules, on two cores.
const goal = "goal for 1,000,000 lines: 10 s, 500 MB"

func main() {
	log.SetFlags(0)
	lines := flag.Int("lines", 1_000_000, "lines of the log")
	clients := flag.Int("clients", 50_000, "clients in it, by Zipf: few ask often, most once or twice")
	flag.Parse()
	if err := measureAll(*lines, *clients); err != nil {
		log.Fatal("planner: ", err)
	}
}

func measureAll(lines, clients int) error {
	dir, err := os.MkdirTemp("", "planner")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	command := filepath.Join(dir, "httplimit")
	build := exec.Command("go", "build", "-o", command, ".")
	build.Dir, build.Stderr = filepath.Join("..", "cmd", "httplimit"), os.Stderr
	build.Env = append(os.Environ(), "GOWORK=off")
	if err := build.Run(); err != nil {
		return fmt.Errorf("building the command, which wants benchmarks/ as its folder: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "policy.json"), []byte(policy), 0o600); err != nil {
		return err
	}
	fmt.Printf("%-10s %10s %10s %10s %10s %12s %10s\n",
		"lines", "wc -l", "split", "plan", "plan CPU", "plan/split", "memory")
	for _, n := range []int{lines, 2 * lines} {
		if err := measure(dir, command, n, clients); err != nil {
			return err
		}
	}
	fmt.Println(goal)
	return nil
}

func measure(dir, command string, lines, clients int) error {
	name := filepath.Join(dir, "access.log")
	logins, err := writeLog(name, lines, clients)
	if err != nil {
		return err
	}
	counted, err := timed(exec.Command("wc", "-l", name))
	if err != nil {
		return err
	}
	split, err := splitLines(name)
	if err != nil {
		return err
	}
	out := filepath.Join(dir, "out.json")
	planned, err := timed(exec.Command(command, "plan", "-policy", filepath.Join(dir, "policy.json"), "-json", out,
		"-o", filepath.Join(dir, "out.html"), name))
	if err != nil {
		return err
	}
	if err := check(out, lines, logins); err != nil {
		return err
	}
	fmt.Printf("%-10d %9.2fs %9.2fs %9.2fs %9.2fs %11.1fx %7d MB\n", lines, counted.wall.Seconds(), split.Seconds(),
		planned.wall.Seconds(), planned.cpu.Seconds(), planned.wall.Seconds()/split.Seconds(), planned.memory>>20)
	return nil
}

// cost is what a process took.
type cost struct {
	wall, cpu time.Duration
	memory    int64 // bytes, at most
}

func timed(c *exec.Cmd) (cost, error) {
	var errs bytes.Buffer
	c.Stderr = &errs
	began := time.Now()
	if err := c.Run(); err != nil {
		return cost{}, fmt.Errorf("%s: %w: %s", c.Path, err, errs.Bytes())
	}
	state := c.ProcessState
	took := cost{wall: time.Since(began), cpu: state.UserTime() + state.SystemTime()}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		took.memory = usage.Maxrss << 10 // kilobytes on Linux
	}
	return took, nil
}

// splitLines takes every line of a file apart at its spaces, and does nothing with them.
func splitLines(name string) (time.Duration, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	began, words := time.Now(), 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words += len(bytes.Split(lines.Bytes(), []byte(" ")))
	}
	if words == 0 {
		return 0, fmt.Errorf("%s has no words", name)
	}
	return time.Since(began), nil
}

// check holds what the command has written against the log.
func check(name string, lines, logins int) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var out struct {
		Input struct{ Parsed int }
		Rules []struct{ Requests, Refused int }
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return err
	}
	if out.Input.Parsed != lines || len(out.Rules) != 3 ||
		out.Rules[0].Requests != lines || out.Rules[1].Requests != lines ||
		out.Rules[2].Requests != logins || out.Rules[0].Refused == 0 {
		return fmt.Errorf("the answers are wrong: %+v, want %d lines with %d logins", out, lines, logins)
	}
	return nil
}
