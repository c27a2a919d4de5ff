package prometheus_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// build compiles examples/observed.
func build(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "observed")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	cmd.Dir = "../../examples/observed"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

// service is examples/observed at work, and the load on it.
type service struct {
	url, scraped string // scraped is host:port
	client       *http.Client
	log          logFile
	statuses     [600]atomic.Int64 // answers, by status
	unanswered   atomic.Int64
}

// run starts a program and waits until it has said where it listens.
func run(t *testing.T, program string, flags ...string) *service {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	s := &service{client: &http.Client{Timeout: 10 * time.Second, Transport: new(http.Transport)}}
	cmd := exec.CommandContext(ctx, program, append(flags, "-addr=127.0.0.1:0", "-metrics=127.0.0.1:0")...)
	cmd.Stderr = &s.log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); _ = cmd.Wait() })
	t.Cleanup(s.client.CloseIdleConnections)
	address := regexp.MustCompile(`http://([0-9.]+:[0-9]+)`)
	for lines := bufio.NewScanner(out); s.scraped == ""; {
		if !lines.Scan() {
			t.Fatalf("%s ended before it said where it listens", program)
		}
		found := address.FindStringSubmatch(lines.Text())
		switch {
		case found == nil:
		case strings.HasPrefix(strings.TrimSpace(lines.Text()), "for "):
			s.url = found[0]
		default:
			s.scraped = found[1]
		}
	}
	return s
}

// logFile has what a service has written to its log.
type logFile struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logFile) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// pace is between two requests of one sender: enough load for every panel, and not for the machine.
const pace = 4 * time.Millisecond

// kind makes number i of the requests of a sender.
type kind func(sender, i int) (path, account, addr string)

// send sends requests from n senders until the context ends.
func (s *service) send(ctx context.Context, all *sync.WaitGroup, n int, next kind) {
	for sender := range n {
		all.Go(func() {
			ticker := time.NewTicker(pace)
			defer ticker.Stop()
			for i := 0; ctx.Err() == nil; i++ {
				s.get(next(sender, i))
				<-ticker.C
			}
		})
	}
}

func (s *service) get(path, account, addr string) {
	r, err := http.NewRequest(http.MethodGet, s.url+path, nil)
	if err != nil {
		panic(err)
	}
	r.Header.Set("X-API-Key", account)
	r.Header.Set("X-Forwarded-For", addr)
	answer, err := s.client.Do(r)
	if err != nil {
		s.unanswered.Add(1)
		return
	}
	_ = answer.Body.Close()
	s.statuses[answer.StatusCode].Add(1)
}

// mixed is half one account, which is soon over its limit, and half others, some of which export. Nobody's address
// sends more than a few.
func mixed(sender, i int) (path, account, addr string) {
	path, account, addr = "/", "hot", fmt.Sprintf("10.%d.%d.%d", sender, i>>8%256, i%256)
	if i%2 == 0 {
		account = fmt.Sprintf("account-%d-%d", sender, i)
	}
	if i%10 == 0 {
		path = "/export/all"
	}
	return path, account, addr
}

// flood is of addresses that are never seen again, and of one that is.
func flood(sender, i int) (path, account, addr string) {
	if i%4 == 0 {
		return "/", "", "192.0.2.1"
	}
	return "/", "", fmt.Sprintf("10.%d.%d.%d", sender, i>>8%256, i%256)
}
