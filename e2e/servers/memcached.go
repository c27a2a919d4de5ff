package servers

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Memcached starts one memcached. Options are added to its command line, such as "-m", "1".
func Memcached(t testing.TB, options ...string) *Server {
	t.Helper()
	return start(t, program{
		binary: "memcached",
		args: func(port int) []string {
			args := []string{"-l", "127.0.0.1", "-p", strconv.Itoa(port), "-U", "0"}
			if os.Geteuid() == 0 {
				args = append(args, "-u", "root") // it refuses to run as root by default
			}
			return append(args, options...)
		},
		pid: memcachedPID,
	}, freePort)
}

func memcachedPID(addr string) (int, error) {
	conn, err := net.DialTimeout("tcp", addr, answerTimeout)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return 0, err
	}
	if _, err := fmt.Fprint(conn, "stats\r\n"); err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		if pid, ok := strings.CutPrefix(lines.Text(), "STAT pid "); ok {
			return strconv.Atoi(pid)
		}
	}
	return 0, fmt.Errorf("no pid in the stats of memcached at %s: %w", addr, lines.Err())
}
