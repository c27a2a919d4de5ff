package servers

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// Prometheus starts one Prometheus with a configuration, which may name files relative to its folder, as rules.yaml by
// rules is. It returns the URL that the paths of its API follow.
func Prometheus(t testing.TB, config, rules string) (s *Server, url string) {
	t.Helper()
	folder, prefix := t.TempDir(), "/"+rand.Text() // no other server answers there
	for name, text := range map[string]string{"prometheus.yaml": config, "rules.yaml": rules} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatalf("servers: %v", err)
		}
	}
	s = start(t, program{
		binary: "prometheus",
		args: func(port int) []string {
			addr := loopback(port)
			return []string{
				"--config.file=" + filepath.Join(folder, "prometheus.yaml"), "--storage.tsdb.path=data",
				"--web.listen-address=" + addr, "--web.external-url=http://" + addr + prefix,
				"--web.route-prefix=" + prefix, "--log.level=warn",
			}
		},
		path: prefix + "/-/ready",
	}, freePort)
	return s, "http://" + s.Addr() + prefix
}

// RedisExporter starts Prometheus' exporter for the Redis at addr, and returns the path that is to be scraped.
func RedisExporter(t testing.TB, addr string) (s *Server, path string) {
	t.Helper()
	path = "/" + rand.Text()
	return start(t, program{
		binary: "prometheus-redis-exporter",
		args: func(port int) []string {
			return []string{
				"-redis.addr=redis://" + addr, "-web.listen-address=" + loopback(port), "-web.telemetry-path=" + path,
			}
		},
		path: path,
	}, freePort), path
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// answers reports that GET is answered with 200, or why not.
func answers(url string) (done bool, err error) {
	client := http.Client{Timeout: answerTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(url)
	if err != nil {
		return false, err
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return false, fmt.Errorf("%s answers %s", url, answer.Status)
	}
	return true, nil
}
