package servers

import (
	"bufio"
	"net"
	"strconv"
	"strings"
	"time"
)

// Info asks a Redis server for INFO with all sections, among them how often each command was called. memcached does not
// know it and tells nothing.
func (s *Server) Info() (map[string]string, error) {
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return nil, err
	}
	if _, err := conn.Write([]byte("INFO everything\r\n")); err != nil {
		return nil, err
	}
	r := bufio.NewReader(conn)
	head, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	size, err := strconv.Atoi(strings.Trim(head, "$\r\n"))
	if err != nil {
		return nil, nil // not an answer of Redis
	}
	lines := make(map[string]string)
	for size > 0 {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, err
		}
		size -= len(line)
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			lines[name] = value
		}
	}
	return lines, nil
}
