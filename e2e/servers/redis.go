package servers

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// answerTimeout bounds one question to a server. Locally it answers in less than a millisecond.
const answerTimeout = 2 * time.Second

// Redis starts one redis-server. Options are added to its command line, such as "--maxmemory", "2mb".
func Redis(t testing.TB, options ...string) *Server {
	t.Helper()
	RequireInstalled(t, "redis-server", "redis-cli")
	return start(t, program{
		binary: "redis-server",
		args: func(port int) []string {
			return append([]string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"},
				options...)
		},
		pid: redisPID,
	}, freePort)
}

func redisPID(addr string) (int, error) {
	info, err := ask(addr, "INFO", "server")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(field(info, "process_id"))
}

// ask sends one command with redis-cli and returns the answer, one element a line. An error reply is an error.
func ask(addr string, command ...string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	answer, err := exec.CommandContext(ctx, "redis-cli",
		append([]string{"-e", "-h", host, "-p", port}, command...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s to %s: %w: %s", strings.Join(command, " "), addr, err, answer)
	}
	return strings.TrimSpace(string(answer)), nil
}

// mustAsk is ask for commands that have no reason to fail.
func mustAsk(t testing.TB, addr string, command ...string) string {
	t.Helper()
	answer, err := ask(addr, command...)
	if err != nil {
		t.Fatalf("servers: %v", err)
	}
	return answer
}

// field returns the value of a line "name:value", the form of INFO, or "".
func field(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// expect returns an error unless the answer to a command in the form of INFO has every one of the lines.
func expect(addr string, command []string, lines ...string) error {
	info, err := ask(addr, command...)
	if err != nil {
		return err
	}
	for _, line := range lines {
		name, want, _ := strings.Cut(line, ":")
		if got := field(info, name); got != want {
			return fmt.Errorf("%s at %s is %q, want %q", name, addr, got, want)
		}
	}
	return nil
}
