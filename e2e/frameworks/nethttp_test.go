package frameworks_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"testing"

	"github.com/coder/websocket"
	"github.com/go-chi/chi/v5"
)

func serveNetHTTP(t *testing.T, at net.Listener, a app) {
	mux := http.NewServeMux()
	item := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.write(w, a.item(r.Context(), r.PathValue("id")))
	}))
	for i := len(a.onRoute) - 1; i >= 0; i-- {
		item = a.onRoute[i].Handler(item)
	}
	mux.Handle("/items/{id}", item)
	mux.HandleFunc("/open", open)
	mux.HandleFunc("/quota", func(w http.ResponseWriter, r *http.Request) { a.write(w, a.quota(r)) })
	mux.HandleFunc("/events", a.sendEvents)
	mux.HandleFunc("/ws", sendBack)
	mux.Handle("/download", a.large())

	handler := http.Handler(mux)
	for i := len(a.around) - 1; i >= 0; i-- {
		handler = a.around[i].Handler(handler)
	}
	a.serveHandler(t, at, a.leaving(recovering(handler)))
}

// serveChi needs no adapter: what chi takes as middleware is what Handler is.
func serveChi(t *testing.T, at net.Listener, a app) {
	router := chi.NewRouter()
	router.Use(a.leaving, recovering)
	for _, m := range a.around {
		router.Use(m.Handler)
	}
	router.Group(func(group chi.Router) {
		for _, m := range a.onRoute {
			group.Use(m.Handler)
		}
		group.HandleFunc("/items/{id}", func(w http.ResponseWriter, r *http.Request) {
			a.write(w, a.item(r.Context(), chi.URLParam(r, "id")))
		})
	})
	router.HandleFunc("/open", open)
	router.HandleFunc("/quota", func(w http.ResponseWriter, r *http.Request) { a.write(w, a.quota(r)) })
	router.HandleFunc("/events", a.sendEvents)
	router.HandleFunc("/ws", sendBack)
	router.Handle("/download", a.large())
	a.serveHandler(t, at, router)
}

var discarded = log.New(io.Discard, "", 0)

func serveHandler(t *testing.T, at net.Listener, handler http.Handler) {
	app{}.serveHandler(t, at, handler)
}

func (a app) serveHandler(t *testing.T, at net.Listener, handler http.Handler) {
	server := &http.Server{Handler: handler, ErrorLog: discarded,
		BaseContext: func(net.Listener) context.Context { return a.base() }, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	go server.Serve(at)
	t.Cleanup(func() { server.Close() })
}

func (a app) leaving(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer a.left()
		next.ServeHTTP(w, r.WithContext(a.enter(r.Context())))
	})
}

func recovering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if recover() != nil {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// large is the handler of /download.
func (a app) large() http.Handler {
	if a.download == nil {
		return http.NotFoundHandler()
	}
	return a.download
}

func (a app) write(w http.ResponseWriter, y reply) {
	switch {
	case y.err != nil && y.status == 0:
		http.Error(w, "sorry", a.errors())
	case y.err != nil:
		http.Error(w, "sorry", y.status)
	case y.status != 0:
		w.WriteHeader(y.status)
		io.WriteString(w, y.body)
	}
}

func open(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "open") }

func (a app) sendEvents(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	a.events(r.Context(), func(event string) {
		io.WriteString(w, event)
		w.(http.Flusher).Flush() // as most libraries for streams do it
	})
}

// sendBack is a WebSocket that ends with its client.
func sendBack(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	ctx := context.WithoutCancel(r.Context()) // the connection is no longer the request's
	for {
		kind, message, err := conn.Read(ctx)
		if err != nil || conn.Write(ctx, kind, message) != nil {
			return
		}
	}
}
