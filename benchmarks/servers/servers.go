// Package servers starts servers of our own for a measurement, on free ports of this machine, and reads their meters.
package servers

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// Server is a process of our own on a free port of this machine. It keeps nothing on disk.
type Server struct {
	Addr    string
	command *exec.Cmd
}

// Redis starts redis-server.
func Redis() (*Server, error) {
	return start("redis-server", func(port string) []string {
		return []string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--logfile", os.DevNull}
	})
}

// Memcached starts memcached.
func Memcached() (*Server, error) {
	return start("memcached", func(port string) []string {
		return []string{"-p", port, "-l", "127.0.0.1", "-u", "nobody", "-c", "2048"}
	})
}

func start(binary string, arguments func(port string) []string) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: "127.0.0.1:" + port, command: exec.Command(binary, arguments(port)...)}
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	for range 500 {
		if conn, err := net.Dial("tcp", s.Addr); err == nil {
			return s, conn.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.Stop()
	return nil, fmt.Errorf("%s does not answer at %s", binary, s.Addr)
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// Stop ends the process that was started, and no other.
func (s *Server) Stop() {
	_ = s.command.Process.Kill()
	_ = s.command.Wait()
}

// CPU is what the server has used so far. Linux counts it in hundredths of a second.
func (s *Server) CPU() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The name of the program is in brackets and may hold anything; utime and stime are 12th and 13th after it.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, errors.New("/proc: too few fields in stat")
	}
	user, err := strconv.ParseInt(string(fields[11]), 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(string(fields[12]), 10, 64)
	return time.Duration(user+system) * (time.Second / 100), err
}
