package faults_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// A service has one rule with each policy, for the path of the same name.
const (
	local, open, closed = "local", "open", "closed"

	quota     = 40        // units a client has for local, in the store
	plenty    = 1_000_000 // for the others
	instances = 2
	share     = quota / instances // units that it has in this process while the store is away
)

// service is an HTTP server with a Middleware over a store.
type service struct {
	*httplimit.Middleware
	url    string
	client *http.Client
	seen   *results
	log    *logger
	halt   atomic.Int64 // the longest time, in nanoseconds, of a request that needs no store
}

func startService(t *testing.T, store limiter.Store) *service {
	t.Helper()
	s := &service{seen: &results{}, log: &logger{}}
	m, err := httplimit.New(httplimit.Config{
		Store: store, Instances: instances, Observer: s.seen, Logger: slog.New(slog.NewTextHandler(s.log, nil)),
		Rules: []httplimit.Rule{
			rule(local, httplimit.FailLocal, quota),
			rule(open, httplimit.FailOpen, plenty),
			rule(closed, httplimit.FailClosed, plenty),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the Middleware wrote:\n%s", strings.Join(s.log.lines, ""))
		}
	})
	s.Middleware = m
	server := httptest.NewServer(m.Handler(http.HandlerFunc(answer)))
	t.Cleanup(server.Close)
	s.url = server.URL
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	s.client = &http.Client{Transport: transport}
	t.Cleanup(transport.CloseIdleConnections)
	return s
}

// rule counts clients by a name that they choose. A window of a day has no boundary within a test, except at midnight,
// and a SlidingWindow still counts the previous one then.
func rule(path string, policy httplimit.FailurePolicy, n int64) httplimit.Rule {
	return httplimit.Rule{
		Name: path, Key: httplimit.Header("X-Client"), Limit: limiter.PerDay(n), Failure: policy,
		When: func(r *http.Request) bool { return r.URL.Path == "/"+path },
	}
}

func answer(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

// reply is what a client saw.
type reply struct {
	path       string
	start, end time.Time
	status     int
	fields     bool // the answer has a RateLimit field
	fault      string
}

// ask sends one request.
func (s *service) ask(path, client string) reply {
	r := reply{path: path, start: time.Now()}
	request, err := http.NewRequest(http.MethodGet, s.url+"/"+path, nil)
	if err != nil {
		r.fault = err.Error()
		return r
	}
	request.Header.Set("X-Client", client)
	response, err := s.client.Do(request)
	if err != nil {
		r.fault = err.Error()
		return r
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	r.end, r.status, r.fields = time.Now(), response.StatusCode, response.Header.Get("Ratelimit") != ""
	r.fault = check(path, response, string(body))
	if err != nil {
		r.fault = err.Error()
	}
	return r
}

// probe sends a request that needs no store: if that takes long, the machine has halted.
func (s *service) probe() {
	r := s.ask("none", "none")
	took := int64(r.end.Sub(r.start))
	for longest := s.halt.Load(); took > longest && !s.halt.CompareAndSwap(longest, took); {
		longest = s.halt.Load()
	}
}

// longest returns how long a request may take in all: a few time-outs, and more if the machine has halted.
func (s *service) longest() time.Duration { return 5*timeout + 4*s.halted() }

// halted returns for how long the machine has halted at most.
func (s *service) halted() time.Duration { return time.Duration(s.halt.Load()) }

const problem = `{"type":"https://iana.org/assignments/http-problem-types#`

// bodies are all that a client may ever read, by status; those of refusals up to the wait.
var bodies = map[int]string{
	http.StatusOK: "hello",
	http.StatusTooManyRequests: problem + `quota-exceeded",` +
		`"title":"Request cannot be satisfied as assigned quota has been exceeded",` +
		`"status":429,"violated-policies":["local"],"limits":[{"policy":"local","quota":40,"window":86400}]`,
	http.StatusServiceUnavailable: problem + `temporary-reduced-capacity",` +
		`"title":"Request cannot be satisfied due to temporary server capacity constraints",` +
		`"status":503,"violated-policies":["closed"]`,
}

// check returns what is wrong with an answer, in every state of the store: a status that the path does not have, or
// anything but the documented fields and bodies, such as the text of an error.
func check(path string, response *http.Response, body string) string {
	refused := map[string]int{local: http.StatusTooManyRequests, open: http.StatusOK,
		closed: http.StatusServiceUnavailable}
	if response.StatusCode != http.StatusOK && response.StatusCode != refused[path] {
		return path + " answered " + response.Status
	}
	want := bodies[response.StatusCode]
	if response.StatusCode != http.StatusOK {
		want += `,"retry_after":` + response.Header.Get("Retry-After") + `}`
	}
	if body != want {
		return path + " answered the body " + body
	}
	if response.StatusCode != http.StatusOK && response.Header.Get("Retry-After") == "" {
		return path + " answered " + response.Status + " without Retry-After"
	}
	for name, values := range response.Header {
		switch name {
		case "Content-Type", "Content-Length", "Date", "Ratelimit", "Ratelimit-Policy", "Retry-After", "Cache-Control":
		default:
			return path + " answered the field " + name + ": " + strings.Join(values, ", ")
		}
	}
	return ""
}

// results counts what the Middleware passed to its Observer.
type results struct {
	mu    sync.Mutex
	count map[decided]int
	took  []took
}

type decided struct {
	rule   string
	source httplimit.Source
	result httplimit.Result
}

// took is how long the store took for a decision that ended then.
type took struct {
	at time.Time
	d  time.Duration
}

func (r *results) Observe(_ context.Context, o *httplimit.Observation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == nil {
		r.count = make(map[decided]int)
	}
	for i := range o.Rules {
		one := &o.Rules[i]
		r.count[decided{one.Rule, one.Source, one.Result}]++
	}
	r.took = append(r.took, took{time.Now(), o.Store})
}

func (r *results) of(rule string, source httplimit.Source, result httplimit.Result) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count[decided{rule, source, result}]
}

// undecided is how many requests the store did not decide, whatever became of them.
func (r *results) undecided() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for d, count := range r.count {
		if d.source == httplimit.SourceLocal || d.source == httplimit.SourceNone {
			n += count
		}
	}
	return n
}

// slow returns the decisions that ended between two moments and took longer than the time-out.
func (r *results) slow(from, to time.Time) []took {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []took
	for _, one := range r.took {
		if one.d >= timeout && one.at.After(from) && one.at.Before(to) {
			all = append(all, one)
		}
	}
	return all
}

// between returns how long the store took for the decisions between two moments.
func (r *results) between(from, to time.Time) []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []time.Duration
	for _, one := range r.took {
		if one.at.Add(-one.d).After(from) && one.at.Before(to) {
			all = append(all, one.d)
		}
	}
	return all
}

// logger keeps the lines of the Middleware's log.
type logger struct {
	mu    sync.Mutex
	lines []string
}

func (l *logger) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line))
	return len(line), nil
}

// about returns the lines about changes of the rule's state.
func (l *logger) about(rule string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for _, line := range l.lines {
		if strings.Contains(line, "rule="+rule+" ") {
			lines = append(lines, line)
		}
	}
	return lines
}
