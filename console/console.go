package console

import (
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/httplimit/httplimit"
)

// Config says who may see the page, and who may change things on it.
type Config struct {
	// Viewer says who may look: [LocalOnly], or a function that asks the service's own authentication. Nil means
	// operators only. Everybody else is answered 403, whatever they ask for.
	Viewer func(*http.Request) bool
	// Operator says who may reset a client, and by which name it stands in the list of activities and in the log;
	// nil means nobody. Where there is a Viewer, operators have to be viewers too.
	Operator func(*http.Request) (name string, ok bool)
	// Logger is told what operators do; nil means slog.Default().
	Logger *slog.Logger
}

// Console is the operators' page. It is an [httplimit.Observer], which counts, and an [http.Handler] to be mounted
// under any path. Make one with [New]. While nobody looks, nothing runs but the counting: its only goroutines are
// those that ask the stores about a client. Safe for concurrent use.
type Console struct {
	cfg         Config
	started     time.Time
	startedNano int64 // in Unix time

	others *history // requests that no series counts
	series seriesTable

	mu      sync.Mutex
	watched []*httplimit.Middleware
	asked   map[*httplimit.Middleware]places // of each that is watched

	snapshots sync.Mutex
	latest    *overview   // guarded by snapshots
	changed   atomic.Bool // an operator has changed something since

	host    string
	pid     int
	seal    *sealer
	own     *ownLimits
	acts    activities
	streams streams
	protect *http.CrossOriginProtection
	pages   *template.Template
}

// New makes a Console. It returns an error if neither Viewer nor Operator is set, as nobody could see the page.
func New(cfg Config) (*Console, error) {
	if cfg.Viewer == nil && cfg.Operator == nil {
		return nil, errors.New("console: Config has neither Viewer nor Operator, so nobody may see the page: " +
			"want one of them, such as Viewer: console.LocalOnly")
	}
	own, err := newOwnLimits()
	if err != nil {
		return nil, err
	}
	seal, err := newSealer()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	host, _ := os.Hostname() // "" is left out
	return &Console{
		cfg: cfg, started: now, startedNano: now.UnixNano(), others: new(history), host: host, pid: os.Getpid(),
		own: own, seal: seal, streams: streams{closed: make(chan struct{})},
		protect: http.NewCrossOriginProtection(), pages: parsePages(),
	}, nil
}

// logger returns where to write.
func (c *Console) logger() *slog.Logger {
	if c.cfg.Logger != nil {
		return c.cfg.Logger
	}
	return slog.Default()
}

// Watch adds Middlewares, whose configuration, stores and clients the page then shows. What they decide is counted
// only if the Console is their Observer too. Nil ones, and those that are watched already, are left out.
func (c *Console) Watch(m ...*httplimit.Middleware) {
	c.mu.Lock()
	defer c.mu.Unlock()
next:
	for _, one := range m {
		if one == nil {
			continue
		}
		for _, other := range c.watched {
			if one == other {
				continue next
			}
		}
		c.watched = append(c.watched, one)
		if c.asked == nil {
			c.asked = make(map[*httplimit.Middleware]places)
		}
		c.asked[one] = make(places, maxAsked)
	}
}
