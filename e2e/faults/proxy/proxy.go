// Package proxy stands between a client and a server on one TCP connection each, and makes them fail as networks and
// servers do. Unlike general fault proxies it knows which answer belongs to which request, so that a test can lose the
// answer to a command that was executed and leave the connection's handshake alone.
package proxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy passes connections on to a server. It is safe for concurrent use and ends with its test.
type Proxy struct {
	listener net.Listener
	fault    atomic.Pointer[Fault]
	pumps    sync.WaitGroup

	mu     sync.Mutex
	server string
	links  map[*link]bool
	closed bool
}

// Fault is what happens to answers from now on. The zero value is a network that works.
type Fault struct {
	// Hold keeps all that is sent in either direction until another fault is set, and then passes it on:
	// connections are accepted and nothing is answered.
	Hold bool
	// Answer decides what happens to an answer. request is the latest that the client has sent on the connection. Nil
	// passes all answers on.
	Answer func(request []byte) Action

	over chan struct{} // closed when another fault is set
}

// Action is what happens to one answer. The zero value passes it on.
type Action struct {
	Delay time.Duration
	Until <-chan struct{} // wait for this channel to be closed; nil: do not wait
	Lose  bool            // close the connection instead of passing the answer on
}

// link is one connection of a client and the one to the server that belongs to it.
type link struct {
	client, server *net.TCPConn
	gone           chan struct{}
	close          func()
	mute           atomic.Bool // data of the client is dropped, and nothing comes back
	request        atomic.Pointer[[]byte]
}

// New starts a proxy on a free loopback port.
func New(t testing.TB, server string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("proxy: %v", err)
	}
	p := &Proxy{listener: l, server: server, links: make(map[*link]bool)}
	p.Set(Fault{})
	p.pumps.Go(p.accept)
	t.Cleanup(p.stop)
	return p
}

// Addr is where clients connect.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Set replaces the fault in force, for connections that are open as well.
func (p *Proxy) Set(f Fault) {
	f.over = make(chan struct{})
	if old := p.fault.Swap(&f); old != nil {
		close(old.over)
	}
}

// Redirect leads new connections to another server, as a name does after a failover. Open ones stay where they are.
func (p *Proxy) Redirect(server string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server = server
}

// Open is how many connections of clients are open.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// HalfClose ends the server's half of all connections that are open: the client may send, and reads an end of file.
func (p *Proxy) HalfClose() {
	for _, l := range p.open() {
		l.mute.Store(true)
		_ = l.client.CloseWrite() // a connection that is closed already is as dead
	}
}

// Mute makes the open connections dead without closing them, as a router does that has forgotten them. New ones work.
func (p *Proxy) Mute() {
	for _, l := range p.open() {
		l.mute.Store(true)
	}
}

// MuteSome is [Proxy.Mute] for n of the open connections, whichever.
func (p *Proxy) MuteSome(n int) {
	for _, l := range p.open()[:n] {
		l.mute.Store(true)
	}
}

func (p *Proxy) open() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	var links []*link
	for l := range p.links {
		links = append(links, l)
	}
	return links
}

func (p *Proxy) stop() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.listener.Close()
	for _, l := range p.open() {
		l.close()
	}
	p.pumps.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.pumps.Go(func() { p.serve(client.(*net.TCPConn)) })
	}
}

// serve connects a client with the server and returns when either has left.
func (p *Proxy) serve(client *net.TCPConn) {
	p.mu.Lock()
	address := p.server
	p.mu.Unlock()
	server, err := net.Dial("tcp", address)
	if err != nil {
		client.Close()
		return
	}
	l := &link{client: client, server: server.(*net.TCPConn), gone: make(chan struct{})}
	l.close = sync.OnceFunc(func() {
		close(l.gone)
		l.client.Close()
		l.server.Close()
	})
	l.request.Store(new([]byte)) // a server may speak first
	defer l.close()
	if !p.enter(l) {
		return
	}
	defer p.leave(l)
	p.pumps.Go(func() {
		defer l.close()
		p.requests(l)
	})
	p.answers(l)
}

func (p *Proxy) enter(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.links[l] = true
	return true
}

func (p *Proxy) leave(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

func (p *Proxy) requests(l *link) {
	pump(l.client, func(request []byte) error {
		if l.mute.Load() {
			return nil
		}
		if err := p.pass(l); err != nil {
			return err
		}
		copied := append([]byte(nil), request...)
		l.request.Store(&copied)
		_, err := l.server.Write(request)
		return err
	})
}

func (p *Proxy) answers(l *link) {
	pump(l.server, func(answer []byte) error {
		if err := p.pass(l); err != nil {
			return err
		}
		if ask := p.fault.Load().Answer; ask != nil {
			if err := l.suffer(ask(*l.request.Load())); err != nil {
				return err
			}
		}
		if l.mute.Load() {
			return nil
		}
		_, err := l.client.Write(answer)
		return err
	})
}

var errGone = errors.New("the connection is gone")

// pass returns when nothing is held any more.
func (p *Proxy) pass(l *link) error {
	for {
		f := p.fault.Load()
		if !f.Hold {
			return nil
		}
		select {
		case <-f.over:
		case <-l.gone:
			return errGone
		}
	}
}

func (l *link) suffer(a Action) error {
	if a.Lose {
		return errGone
	}
	if a.Delay > 0 {
		timer := time.NewTimer(a.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.gone:
			return errGone
		}
	}
	if a.Until != nil {
		select {
		case <-a.Until:
		case <-l.gone:
			return errGone
		}
	}
	return nil
}

// pump passes data on as it arrives, until either side fails.
func pump(from io.Reader, pass func([]byte) error) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if err := pass(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
