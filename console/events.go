package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	maxViewers = 16

	// maxPerSecond is what one viewer is sent in a second at most, in bytes. Where more has changed, the rest follows.
	maxPerSecond = 32_000

	// streamLife is how long a stream goes on: the browser begins another one then, so that who may no longer look is
	// seen to be so.
	streamLife = 10 * time.Minute

	// writeTimeout ends the stream of a viewer that reads nothing.
	writeTimeout = 10 * time.Second

	// afterSecond is how far into a second the one before is looked at: all requests are counted by then.
	afterSecond = 50 * time.Millisecond
)

// streams bounds how many viewers there are, and keeps what is sent to several of them. Safe for concurrent use.
type streams struct {
	closed chan struct{}
	end    sync.Once

	mu      sync.Mutex
	viewers int
	second  uint32
	made    map[string][]fragment // in that second, by view
	table   fragment              // of the rules, the latest that was made
	rows    map[string]madeRow    // its rows, by id
}

// fragment is the content of one element of a page.
type fragment struct {
	id, html string
	// key, if set, is what has to change for the fragment to be sent; parts of it are fragments of their own.
	key  string
	tail bool // one of many: they are sent in turn
}

func (f *fragment) version() string {
	if f.key != "" {
		return f.key
	}
	return f.html
}

// Close ends all streams, for good: [http.Server.Shutdown] waits for requests, and a stream is one that goes on. Hand
// it to [http.Server.RegisterOnShutdown]. Everything else goes on as before. It may be called more than once.
func (c *Console) Close() {
	if c.streams.closed != nil {
		c.streams.end.Do(func() { close(c.streams.closed) })
	}
}

// enter takes a place, if there is one.
func (s *streams) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.viewers >= maxViewers {
		return false
	}
	s.viewers++
	return true
}

func (s *streams) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.viewers--; s.viewers == 0 {
		s.made, s.table, s.rows = nil, fragment{}, nil
	}
}

// serveEvents sends what changes on a page, once a second.
func (c *Console) serveEvents(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // nginx would wait for more
	select {
	case <-c.streams.closed:
		h.Set("Retry-After", "2")
		answerText(w, http.StatusServiceUnavailable, "The service is being stopped.")
		return
	default:
	}
	if r.Method == http.MethodHead {
		return // who asks so hears nothing, and would hold a viewer's place
	}
	out := http.NewResponseController(w)
	if !c.streams.enter() {
		_, _ = fmt.Fprintf(w, "retry: 20000\nevent: full\ndata: {\"viewers\":%d}\n\n", maxViewers)
		return
	}
	defer c.streams.leave()
	s := stream{c: c, w: w, out: out, view: r.URL.Query().Get("view"), id: r.URL.Query().Get("id"),
		sent: make(map[string]string)}
	s.pending = []byte("retry: 2000\n\n")
	s.run(r)
}

// stream is what one viewer is sent.
type stream struct {
	c        *Console
	w        http.ResponseWriter
	out      *http.ResponseController
	view, id string
	sent     map[string]string // version of each fragment
	turn     int               // which of the many is next
	pending  []byte
}

// run sends until the viewer leaves, the Console is closed, or it has gone on for long enough.
func (s *stream) run(r *http.Request) {
	end := time.NewTimer(streamLife)
	defer end.Stop()
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-s.c.streams.closed:
			return
		case <-end.C:
			return
		case <-next.C:
		}
		if s.step() != nil {
			return
		}
		next.Reset(s.c.untilNextSecond())
	}
}

// untilNextSecond returns how long it is until the present second can be looked at.
func (c *Console) untilNextSecond() time.Duration {
	now := c.startedNano + int64(time.Since(c.started))
	return time.Second - time.Duration(now%int64(time.Second)) + afterSecond
}

// step sends what one second has room for.
func (s *stream) step() error {
	if len(s.pending) < maxPerSecond {
		s.pending = append(s.pending, s.message(maxPerSecond-len(s.pending))...)
	}
	n := min(len(s.pending), maxPerSecond)
	_ = s.out.SetWriteDeadline(time.Now().Add(writeTimeout)) // where it is not supported, the server's holds
	if _, err := s.w.Write(s.pending[:n]); err != nil {
		return err
	}
	s.pending = append(s.pending[:0], s.pending[n:]...)
	return s.out.Flush()
}

// tick is what is sent. Parts stand in the order in which they are to be put in place: a table before its rows.
type tick struct {
	Time  string `json:"time"`
	Parts []part `json:"parts"`
}

// part is the new content of an element.
type part struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}

// message returns what has changed, as far as room goes. What is so large that there may never be room for it is sent
// all the same, over several seconds.
func (s *stream) message(room int) []byte {
	o := s.c.snapshot()
	t := tick{Time: o.Time.Format("15:04:05"), Parts: []part{}}
	size := 100
	for _, f := range s.inTurn(s.c.fragments(o, s.view, s.id)) {
		cost := encodedSize(f.html)
		if s.sent[f.id] == f.version() || size+cost > room && cost < maxPerSecond/2 {
			continue
		}
		if f.tail {
			s.turn++
		}
		size += cost
		s.sent[f.id] = f.version()
		t.Parts = append(t.Parts, part{f.id, f.html})
	}
	text, _ := json.Marshal(t) // strings always have a JSON
	return fmt.Appendf(nil, "data: %s\n\n", text)
}

// encodedSize is what a fragment takes in JSON, at most: an angle bracket is six bytes there.
func encodedSize(html string) (n int) {
	for i := range len(html) {
		switch html[i] {
		case '<', '>', '&':
			n += 6
		case '"', '\\', '\n', '\t':
			n += 2
		default:
			n++
		}
	}
	return n + 40
}

// inTurn puts those first of the many that have not been sent for longest.
func (s *stream) inTurn(all []fragment) []fragment {
	head := 0
	for head < len(all) && !all[head].tail {
		head++
	}
	if head == len(all) {
		return all
	}
	many := all[head:]
	at := s.turn % len(many)
	ordered := append(make([]fragment, 0, len(all)), all[:head]...)
	return append(append(ordered, many[at:]...), many[:at]...)
}
