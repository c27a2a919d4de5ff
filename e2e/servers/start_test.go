package servers

import (
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
)

func TestStartTriesAnotherPort(t *testing.T) {
	t.Parallel()
	for name, occupy := range map[string]func(t *testing.T) int{
		"taken by a silent listener": func(t *testing.T) int {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			return l.Addr().(*net.TCPAddr).Port
		},
		"taken by another memcached": func(t *testing.T) int { return Memcached(t).port },
	} {
		t.Run(name, func(t *testing.T) {
			taken := occupy(t)
			program := Memcached(t).program
			ports := []int{taken}
			s := start(t, program, func() (int, error) {
				if len(ports) > 0 {
					port := ports[0]
					ports = ports[1:]
					return port, nil
				}
				return freePort()
			})
			if s.port == taken || len(ports) != 0 {
				t.Errorf("started on port %d with %v untried, want another one than %d", s.port, ports, taken)
			}
		})
	}
}

func TestStartReportsTheServersMessage(t *testing.T) {
	RequireInstalled(t, "redis-server", "redis-cli")
	outcome := run(t, func(t testing.TB) { Redis(t, "--no-such-option", "1") })
	if !strings.Contains(outcome, "failed: ") || !strings.Contains(outcome, "no-such-option") {
		t.Errorf("a server that cannot start: got %q, want its message", outcome)
	}
}

func TestMissingProgram(t *testing.T) {
	for name, tc := range map[string]struct{ servers, want string }{
		"skips":             {servers: "", want: "skipped: "},
		"fails if required": {servers: "required", want: "failed: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", t.TempDir())
			t.Setenv("HTTPLIMIT_SERVERS", tc.servers)
			for program, start := range map[string]func(testing.TB){
				"redis":     func(t testing.TB) { Redis(t) },
				"cluster":   func(t testing.TB) { RedisCluster(t) },
				"sentinel":  func(t testing.TB) { RedisSentinel(t) },
				"memcached": func(t testing.TB) { Memcached(t) },
			} {
				if got := run(t, start); !strings.HasPrefix(got, tc.want) {
					t.Errorf("%s: got %q, want it to begin with %q", program, got, tc.want)
				}
			}
		})
	}
}

// verdict is a test that records how it ended.
type verdict struct {
	testing.TB
	outcome string
}

func (v *verdict) Skipf(format string, args ...any)  { v.end("skipped: "+format, args...) }
func (v *verdict) Fatalf(format string, args ...any) { v.end("failed: "+format, args...) }

func (v *verdict) end(format string, args ...any) {
	v.outcome = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// run returns how a test made of body ends: "passed", or what it was skipped or failed with.
func run(t *testing.T, body func(testing.TB)) string {
	v := &verdict{TB: t, outcome: "passed"}
	done := make(chan struct{})
	go func() {
		defer close(done)
		body(v)
	}()
	<-done
	return v.outcome
}
