// Package servers starts real Redis (7.0 or later), memcached, Prometheus and nginx servers for tests: on free loopback
// ports, with nothing kept on disk, and ended by their process ids when the test is over.
//
// Where a program is not installed the test is skipped, with a message, unless HTTPLIMIT_SERVERS=required is set: then
// it fails.
package servers

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Server is one server process. Its methods are for one goroutine at a time, usually the test's own.
type Server struct {
	program program
	port    int
	dir     string
	command *exec.Cmd
	exited  chan struct{} // closed when the process of command is gone
}

// program describes how one kind of server is started and recognised.
type program struct {
	binary string
	args   func(port int) []string
	pid    func(addr string) (int, error) // asks the server that answers at addr for its process id
	path   string                         // in place of pid: what only this process answers, over HTTP
	config string                         // the name of a file in its folder that it wants to find there, or ""
}

// Addr is where the server listens, as host:port. It stays the same over Kill and Restart.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Kill ends the server at once, as a power cut would, and returns when its process is gone. A server that does not
// run stays as it is.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	if err := s.end(); err != nil {
		t.Fatalf("servers: kill %s at %s: %v", s.program.binary, s.Addr(), err)
	}
}

// Restart starts a killed server again at the same address and returns when it answers. Its data is gone; a
// node of a cluster and a sentinel remember their group.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Kill(t)
	if err := s.run(); err != nil {
		t.Fatalf("servers: restart: %v", err)
	}
}

// Pause halts the process: connections stay open, new ones are accepted by the kernel, nothing is answered.
func (s *Server) Pause(t testing.TB) { t.Helper(); s.signal(t, syscall.SIGSTOP) }

// Resume lets a paused process go on where it was.
func (s *Server) Resume(t testing.TB) { t.Helper(); s.signal(t, syscall.SIGCONT) }

func (s *Server) signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := s.command.Process.Signal(sig); err != nil {
		t.Fatalf("servers: %v %s at %s: %v", sig, s.program.binary, s.Addr(), err)
	}
}

// start runs p until the test is over. Between the moment in which ports finds a port free and the moment in which
// the server binds it another process may take it, so it tries a few.
func start(t testing.TB, p program, ports func() (int, error)) *Server {
	t.Helper()
	RequireInstalled(t, p.binary)
	var faults []error
	for range 5 {
		port, err := ports()
		if err != nil {
			t.Fatalf("servers: no free port: %v", err)
		}
		s := &Server{program: p, port: port, dir: t.TempDir()}
		s.writeConfig(t)
		t.Cleanup(func() { s.finish(t) })
		if err = s.run(); err == nil {
			return s
		}
		faults = append(faults, err)
	}
	t.Fatalf("servers: %s does not start: %v", p.binary, errors.Join(faults...))
	return nil
}

func (s *Server) writeConfig(t testing.TB) {
	t.Helper()
	if s.program.config == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(s.dir, s.program.config), nil, 0o600); err != nil {
		t.Fatalf("servers: %v", err)
	}
}

// run starts the process and waits until it answers. After an error it does not run.
func (s *Server) run() error {
	log, err := os.Create(filepath.Join(s.dir, logName))
	if err != nil {
		return err
	}
	defer log.Close() // the process has a descriptor of its own

	command := exec.Command(s.program.binary, s.program.args(s.port)...)
	command.Dir, command.Stdout, command.Stderr = s.dir, log, log
	command.SysProcAttr = endWithParent()
	if err := command.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = command.Wait() // how it ended is in the log
	}()
	s.command, s.exited = command, exited
	if err := s.awaitAnswer(); err != nil {
		return fmt.Errorf("%s at %s: %w\n%s", s.program.binary, s.Addr(), errors.Join(err, s.end()), s.log())
	}
	return nil
}

// awaitAnswer returns when this very process answers, not another one that was faster to take the port.
func (s *Server) awaitAnswer() error {
	return poll(func() (done bool, err error) {
		select {
		case <-s.exited:
			return true, errors.New("ended instead of answering")
		default:
		}
		if s.program.path != "" {
			return answers("http://" + s.Addr() + s.program.path)
		}
		pid, err := s.program.pid(s.Addr())
		if err == nil && pid != s.command.Process.Pid {
			err = fmt.Errorf("process %d answers instead of %d", pid, s.command.Process.Pid)
		}
		return err == nil, err
	})
}

// finish ends the server with its test, and logs the server's output if the test failed.
func (s *Server) finish(t testing.TB) {
	t.Helper()
	s.Kill(t)
	if t.Failed() {
		t.Logf("servers: %s at %s wrote:\n%s", s.program.binary, s.Addr(), s.log())
	}
}

const logName = "log"

// log returns what the server has written since it was last started.
func (s *Server) log() string {
	text, err := os.ReadFile(filepath.Join(s.dir, logName))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (s *Server) end() error {
	if s.command == nil {
		return nil
	}
	if err := s.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-s.exited
	return nil
}
