package fleet_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// inFlightEnv holds a server's address and makes this program one of the processes of TestRequestsAtOnce. inFlightName
// holds its name.
const (
	inFlightEnv  = "FLEET_TEST_IN_FLIGHT"
	inFlightName = "FLEET_TEST_NAME"
)

const (
	mostAtOnce = 10
	clients    = 16              // of each process
	longest    = 2 * time.Second // that a request takes
	short      = 20 * time.Millisecond
	counted    = 6 * time.Second // how long a request counts at most, three times the longest
)

// underWay is the set of the requests that are under way, as the handlers know it, and mostSeen the most that it held.
const (
	underWay = "under-way"
	mostSeen = "most-seen"
)

// enter adds a request to the set and notes its size, in one step.
var enter = redis.NewScript(`
	redis.call('SADD', KEYS[1], ARGV[1])
	local n = redis.call('SCARD', KEYS[1])
	if n > tonumber(redis.call('GET', KEYS[2]) or 0) then redis.call('SET', KEYS[2], n) end
	return n`)

func atOnce(addr string) (*httplimit.Middleware, *redis.Client, error) {
	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
	store, err := redisstore.New(client, redisstore.Config{Timeout: patient})
	if err != nil {
		return nil, nil, err
	}
	m, err := httplimit.New(httplimit.Config{Store: store, Rules: []httplimit.Rule{{
		Name: "all", Key: httplimit.Header("X-User"), Limit: limiter.Per(mostAtOnce, counted), InFlight: true,
		Failure: httplimit.FailClosed,
	}}})
	return m, client, err
}

// inFlightProcess sends requests through its Middleware until its input ends, one in four of them a long one, and
// prints how many were let in.
func inFlightProcess(addr, name string) error {
	m, client, err := atOnce(addr)
	if err != nil {
		return err
	}
	defer client.Close()
	var mu sync.Mutex
	var let int
	var fault error
	fail := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if fault == nil {
			fault = err
		}
	}
	handler := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := name + " " + r.URL.Query().Get("id")
		ctx := context.WithoutCancel(r.Context())
		if err := enter.Run(ctx, client, []string{underWay, mostSeen}, id).Err(); err != nil {
			fail(err)
		}
		wait := short
		if rand.IntN(4) == 0 {
			wait = time.Duration(rand.Int64N(int64(longest)))
		}
		time.Sleep(wait) // it is what the request takes
		if err := client.SRem(ctx, underWay, id).Err(); err != nil {
			fail(err)
		}
		mu.Lock()
		let++
		mu.Unlock()
	}))
	ended := make(chan struct{})
	go func() { defer close(ended); _, _ = io.Copy(io.Discard, os.Stdin) }()
	var running sync.WaitGroup
	for i := range clients {
		running.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-ended:
					return
				default:
				}
				r := httptest.NewRequest(http.MethodGet, fmt.Sprintf("/?id=%d-%d", i, n), nil)
				r.Header.Set("X-User", "ann")
				w := httptest.NewRecorder()
				switch handler.ServeHTTP(w, r); w.Code {
				case http.StatusOK:
				case http.StatusTooManyRequests:
					time.Sleep(time.Duration(rand.Int64N(int64(short))))
				default:
					fail(fmt.Errorf("answered with %d: %s", w.Code, w.Body))
				}
			}
		})
	}
	running.Wait()
	if fault != nil {
		return fault
	}
	_, err = fmt.Println(let)
	return err
}

// runner is a process under way.
type runner struct {
	name string
	cmd  *exec.Cmd
	in   io.Closer
	out  *bufio.Reader
}

func startRunner(t *testing.T, program, addr, name string) *runner {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), inFlightEnv+"="+addr, inFlightName+"="+name)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &runner{name, cmd, in, bufio.NewReader(out)}
}

// end has the process finish, and returns how many requests it has let in.
func (r *runner) end(t *testing.T) int {
	t.Helper()
	r.in.Close()
	line, _ := r.out.ReadString('\n')
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("process %s: %v", r.name, err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Errorf("process %s: %v", r.name, err)
	}
	return n
}

// of returns the requests of a process that are under way.
func (r *runner) of(t *testing.T, client *redis.Client) (own []any) {
	t.Helper()
	all, err := client.SMembers(t.Context(), underWay).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range all {
		if strings.HasPrefix(id, r.name+" ") {
			own = append(own, id)
		}
	}
	return own
}

// TestRequestsAtOnce: four processes, of 16 clients each, let at most ten requests be under way at once, short ones and
// long ones. One of the processes is killed: its places, and no others, stay taken until Limit.Window is over.
func TestRequestsAtOnce(t *testing.T) {
	t.Parallel()
	addr := servers.Redis(t).Addr()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m, client, err := atOnce(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	all := make([]*runner, processes)
	for i := range all {
		all[i] = startRunner(t, program, addr, fmt.Sprint("p", i))
	}
	victim, others := all[0], all[1:]
	for len(victim.of(t, client)) == 0 || used(t, m) < mostAtOnce {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(longest) // of work for all of them
	for len(victim.of(t, client)) == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := victim.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.cmd.Wait()
	killed := client.Time(t.Context()).Val()
	lost := victim.of(t, client)
	if len(lost) > 0 {
		client.SRem(t.Context(), underWay, lost...) // they are no longer under way
	}
	time.Sleep(longest) // of work for those that are left
	for _, r := range others {
		if r.end(t) == 0 {
			t.Errorf("process %s has let nobody in", r.name)
		}
	}
	// It may have taken places for requests whose handlers had not begun, or had ended already.
	if got := used(t, m); got > clients {
		t.Errorf("when all have ended: %d places are taken, want those of the process that was killed at most", got)
	}
	free := killed.Add(counted / algorithm.StrictParts * (algorithm.StrictParts + 1))
	for client.Time(t.Context()).Val().Before(free) {
		time.Sleep(time.Until(free) / 2)
	}
	if got := used(t, m); got != 0 {
		t.Errorf("%v after one was killed: %d places are taken, want 0", free.Sub(killed), got)
	}
	if most, err := client.Get(t.Context(), mostSeen).Int(); err != nil || most > mostAtOnce {
		t.Errorf("up to %d requests were under way at once, %v, want at most %d", most, err, mostAtOnce)
	}
}

// used returns how many places are taken.
func used(t *testing.T, m *httplimit.Middleware) int64 {
	t.Helper()
	v, err := m.Peek(t.Context(), "all", "ann")
	if err != nil {
		t.Fatal(err)
	}
	return mostAtOnce - v.Remaining
}
