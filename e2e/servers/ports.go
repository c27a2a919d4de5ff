package servers

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Ports are drawn from below the range that Linux gives to outgoing connections and to listeners on port 0 (32768
// to 60999), so that a killed server finds its port still free when it is restarted.
const firstPort, lastPort = 10240, 32766

// freePort returns a loopback port that is free at the moment.
func freePort() (int, error) {
	var err error
	for range 50 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return port, l.Close()
		}
	}
	return 0, err
}

// Listen listens on a loopback port to which a test can come back after it has closed the listener.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	var err error
	for range 5 { // another process may be faster
		var port int
		if port, err = freePort(); err != nil {
			break
		}
		var l net.Listener
		if l, err = net.Listen("tcp", loopback(port)); err == nil {
			return l
		}
	}
	t.Fatalf("servers: no free port: %v", err)
	return nil
}
