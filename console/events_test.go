package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// viewer takes what a stream sends, with the time.
type viewer struct {
	header http.Header
	mu     sync.Mutex
	status int
	body   strings.Builder
	at     []time.Time
	sizes  []int
	fail   error
}

func (v *viewer) Header() http.Header {
	if v.header == nil {
		v.header = make(http.Header)
	}
	return v.header
}
func (v *viewer) WriteHeader(status int) { v.status = status }
func (v *viewer) FlushError() error      { return nil }
func (v *viewer) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.fail != nil {
		return 0, v.fail
	}
	v.at, v.sizes = append(v.at, time.Now()), append(v.sizes, len(p))
	return v.body.Write(p)
}

func (v *viewer) text() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.body.String()
}

// watch lets a viewer look until ctx ends; done is closed then.
func (s *site) watchAs(ctx context.Context, v *viewer, view string) (done chan struct{}) {
	done = make(chan struct{})
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/events?view="+view, nil)
	go func() {
		defer close(done)
		s.ServeHTTP(v, r)
	}()
	return done
}

// ticks reads what was sent.
func (v *viewer) ticks(t *testing.T) (all []tick) {
	t.Helper()
	for _, message := range strings.Split(v.text(), "\n\n") {
		if data, is := strings.CutPrefix(message, "data: "); is {
			var one tick
			if err := json.Unmarshal([]byte(data), &one); err == nil { // the last one may not be whole yet
				all = append(all, one)
			}
		}
	}
	return all
}

func (t *tick) html() map[string]string {
	all := make(map[string]string)
	for _, part := range t.Parts {
		all[part.ID] = part.HTML
	}
	return all
}

func TestStreamSendsWhatChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, byAddress("busy", limiter.PerDay(3)), byAddress("quiet", limiter.PerDay(1e6)))
		time.Sleep(20 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		v := &viewer{}
		done := s.watchAs(ctx, v, "overview")
		time.Sleep(3 * time.Second)
		before := len(v.ticks(t))
		for range 9 {
			s.request("192.0.2.7")
		}
		time.Sleep(2 * time.Second) // what happens is on the page within two seconds
		synctest.Wait()
		all := v.ticks(t)
		var seen string
		for _, one := range all[before:] {
			for _, part := range one.Parts {
				seen += part.ID + part.HTML
			}
		}
		for _, want := range []string{"192.0.2.7", "r-" + ruleID("shop", "busy"), "mostly by"} {
			if !strings.Contains(seen, want) {
				t.Errorf("got no %s in %s", want, seen)
			}
		}
		if first := all[0].html(); first["rules"] == "" || first["banner"] == "" || first["charts"] == "" {
			t.Errorf("got %d parts at first, want all of the page", len(first))
		}
		row := slices.IndexFunc(all[0].Parts, func(p part) bool { return p.ID[:2] == "r-" })
		if all[0].Parts[row-1].ID != "rules" {
			t.Error("the rows do not come behind their table")
		}
		time.Sleep(30 * time.Second) // all is quiet but for what grows old
		synctest.Wait()
		all = v.ticks(t)
		if last := all[len(all)-1].html(); last["r-"+ruleID("shop", "quiet")] != "" || last["rules"] != "" {
			t.Errorf("got %v in a quiet second, want nothing that has not changed", last)
		}
		cancel()
		<-done
	})
}

// However much changes, no second has more than 32,000 bytes for one viewer, and in the end it has all.
func TestStreamBandwidth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rules []httplimit.Rule
		for i := range 60 {
			name := fmt.Sprintf("a rule with a rather long name, number %d", i)
			rules = append(rules, byAddress(name, limiter.PerDay(5)))
		}
		s := newSite(t, rules...)
		ctx, cancel := context.WithCancel(t.Context())
		v := &viewer{}
		done := s.watchAs(ctx, v, "overview")
		for i := range 60 { // each second other figures for all rules
			for range i%7 + 1 {
				s.request(fmt.Sprintf("192.0.2.%d", i%250))
			}
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(8 * time.Second)
		cancel()
		<-done
		for i := range v.at {
			sum := 0
			for k := i; k < len(v.at) && v.at[k].Sub(v.at[i]) < 900*time.Millisecond; k++ {
				sum += v.sizes[k]
			}
			if sum > maxPerSecond {
				t.Fatalf("got %d bytes in a second, want at most %d", sum, maxPerSecond)
			}
		}
		got := make(map[string]int)
		if len(v.sizes) < 12 {
			t.Errorf("got %d seconds, want at least 12", len(v.sizes))
		}
		for _, one := range v.ticks(t) {
			for _, part := range one.Parts {
				got[part.ID]++
			}
		}
		for i := range rules {
			if id := "r-" + ruleID("shop", rules[i].Name); got[id] == 0 {
				t.Errorf("rule %d was never sent", i)
			}
		}
		if got["rules"] != 1 { // it takes several seconds
			t.Errorf("got the table of rules %d times, want once", got["rules"])
		}
	})
}

func TestSeventeenthViewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, byAddress("address", limiter.PerDay(3)))
		ctx, cancel := context.WithCancel(t.Context())
		leave := make([]chan struct{}, 0, maxViewers)
		for range maxViewers {
			leave = append(leave, s.watchAs(ctx, &viewer{}, "overview"))
		}
		synctest.Wait()
		v := &viewer{}
		<-s.watchAs(t.Context(), v, "overview") // ends at once
		if !strings.Contains(v.text(), "event: full") || !strings.Contains(v.text(), "16") {
			t.Errorf("got %q, want to be told", v.text())
		}
		mustContain(t, s.get(""), "<h2>Rules</h2>") // the page itself is there, it does not move
		cancel()
		for _, done := range leave {
			<-done
		}
		again := &viewer{}
		ctx, cancel = context.WithCancel(t.Context())
		done := s.watchAs(ctx, again, "overview")
		time.Sleep(time.Second)
		cancel()
		<-done
		if !strings.Contains(again.text(), `"parts"`) {
			t.Errorf("got %q after the others have left", again.text())
		}
	})
}

// A synctest bubble does not end while a goroutine is left.
func TestStreamsEnd(t *testing.T) {
	for name, end := range map[string]func(s *site, cancel func(), v *viewer){
		"the viewer leaves": func(_ *site, cancel func(), _ *viewer) { cancel() },
		"Close":             func(s *site, _ func(), _ *viewer) { s.Close(); s.Close() },
		"a broken line": func(_ *site, _ func(), v *viewer) {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.fail = errors.New("broken")
		},
		"after ten minutes": func(*site, func(), *viewer) { time.Sleep(streamLife + 2*time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, byAddress("address", limiter.PerDay(3)))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				v := &viewer{}
				done := s.watchAs(ctx, v, "overview")
				time.Sleep(3 * time.Second)
				end(s, cancel, v)
				<-done
				if s.streams.viewers != 0 {
					t.Errorf("got %d viewers left, want none", s.streams.viewers)
				}
			})
		})
	}
}

func TestClosedConsole(t *testing.T) {
	s := newSite(t, byAddress("address", limiter.PerDay(3)))
	s.Close()
	if w := s.get("events?view=overview"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d, want 503", w.Code)
	}
	mustContain(t, s.get(""), "<h2>Rules</h2>")
}

// A server with streams shuts down, as Close is registered.
func TestShutdown(t *testing.T) {
	s := newSite(t, byAddress("address", limiter.PerDay(3)))
	server := &http.Server{Handler: s}
	server.RegisterOnShutdown(s.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	answer, err := http.Get("http://" + listener.Addr().String() + "/events?view=overview")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := answer.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("Serve: %v", err)
	}
}

// HEAD is answered at once, and takes no viewer's place.
func TestHeadOfTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, byAddress("address", limiter.PerDay(3)))
		w, begun := httptest.NewRecorder(), time.Now()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/limits/events?view=overview", nil))
		if took := time.Since(begun); took != 0 || w.Code != http.StatusOK || w.Body.Len() > 0 {
			t.Errorf("got %d after %v with %d bytes, want 200 at once with none", w.Code, took, w.Body.Len())
		}
	})
}
