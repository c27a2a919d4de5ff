package frameworks_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// stage is a scenario with its server running.
type stage struct {
	scenario
	framework framework
	store     *recorder
	at        net.Addr
	client    *http.Client
	through   chan struct{} // a request has left the app; with room for those of the tests that do not look
	arrived   chan struct{} // closed when the request is where its client leaves
	gone      chan struct{} // closed when the client has left
}

var errDown = errors.New("dial tcp 10.9.8.7:6379: connection refused")

func (s scenario) open(t *testing.T, f framework) *stage {
	t.Helper()
	st := &stage{scenario: s, framework: f, store: record(frozen(t)),
		through: make(chan struct{}, 8), arrived: make(chan struct{}), gone: make(chan struct{})}
	take := st.store.take
	st.store.take = func(ctx context.Context, charges []limiter.Charge) (bool, error) {
		if s.down {
			return false, errDown
		}
		st.wait(whileDeciding)
		return take(ctx, charges)
	}
	item := s.item
	if item == nil {
		item = byID
	}
	a := app{events: s.events, deny: s.deny, errorStatus: s.errorStatus, streamBodies: s.streamBodies,
		shutDown: s.shutDown, canceled: s.canceled, download: s.download, left: func() { st.through <- struct{}{} }}
	a.item = func(ctx context.Context, id string) reply {
		if st.wait(whileHandling) && f.seesLeaving {
			<-ctx.Done()
		}
		return item(ctx, id)
	}
	for _, cfg := range s.around {
		a.around = append(a.around, st.middleware(t, cfg))
	}
	for _, cfg := range s.onRoute {
		a.onRoute = append(a.onRoute, st.middleware(t, cfg))
	}
	a.quota = quotaOf(slices.Concat(a.around, a.onRoute))
	network := s.network
	if network == "" {
		network = "tcp4"
	}
	at := listen(t, network)
	f.serve(t, at, a)
	st.at, st.client = at.Addr(), dial(t, at)
	return st
}

// wait holds a request until its client has left, and reports whether it does here.
func (s *stage) wait(here moment) (leaves bool) {
	if s.leaves != here {
		return false
	}
	close(s.arrived)
	<-s.gone
	return true
}

func (s *stage) middleware(t *testing.T, cfg httplimit.Config) *httplimit.Middleware {
	t.Helper()
	cfg.Store, cfg.Logger = s.store, slog.New(slog.DiscardHandler)
	if s.observed {
		cfg.Observer = notes{s.store}
	}
	cfg.Rules = slices.Clone(cfg.Rules)
	for i := range cfg.Rules {
		if asked := cfg.Rules[i].CountStatus; asked != nil {
			cfg.Rules[i].CountStatus = func(status int) bool {
				s.store.note(fmt.Sprint("settled with ", status))
				return asked(status)
			}
		}
	}
	if s.deny {
		cfg.OnDeny = func(w http.ResponseWriter, _ *http.Request, d httplimit.Denial) {
			app{}.write(w, reply{status: d.Status, body: denied(d)})
		}
	}
	m, err := httplimit.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// play sends a request and returns what came of it.
func (s *stage) play(t *testing.T, block []string) []string {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	method, path, _ := strings.Cut(block[0], " ")
	r, err := http.NewRequestWithContext(ctx, method, host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range block[1:] {
		name, value, _ := strings.Cut(strings.TrimPrefix(line, "> "), ":")
		r.Header[name] = append(r.Header[name], strings.TrimSpace(value))
	}
	if s.leaves != afterwards {
		go func() { <-s.arrived; leave() }()
	}
	answer, body, err := send(s.client, r)
	if s.leaves != afterwards {
		close(s.gone)
		<-s.through
		return append(s.store.noted(), "gone")
	}
	if err != nil {
		t.Fatalf("%s: %v", block[0], err)
	}
	<-s.through
	if strings.Contains(fmt.Sprint(answer.Header, body), errDown.Error()) {
		t.Errorf("%s: the answer tells the store's error: %v %s", block[0], answer.Header, body)
	}
	return append(s.store.noted(), s.mask(describeAnswer(answer, body))...)
}

var times = regexp.MustCompile(`t=\d+|^Retry-After: \d+`)

func (s *stage) mask(lines []string) []string {
	for i := range lines {
		if s.masked {
			lines[i] = times.ReplaceAllStringFunc(lines[i], func(found string) string {
				return strings.TrimRight(found, "0123456789") + "?"
			})
		}
	}
	return lines
}
