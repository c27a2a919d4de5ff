package console

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

func TestLocalOnly(t *testing.T) {
	for _, test := range []struct {
		name, peer, host, header string
		want                     bool
	}{
		{"IPv4", "127.0.0.1:1", "127.0.0.1:8080", "", true},
		{"another loopback address", "127.9.9.9:1", "localhost", "", true},
		{"IPv6", "[::1]:1", "[::1]:8080", "", true},
		{"IPv6 without a port", "[::1]:1", "[::1]", "", true},
		{"mapped", "[::ffff:127.0.0.1]:1", "localhost:80", "", true},
		{"upper case", "127.0.0.1:1", "LOCALHOST", "", true},
		{"another peer", "192.0.2.7:1", "localhost", "", false},
		{"a peer that is none", "@", "localhost", "", false},
		{"no peer", "", "localhost", "", false},
		{"a rebound name", "127.0.0.1:1", "rebound.example:8080", "", false},
		{"a name that begins so", "127.0.0.1:1", "localhost.example", "", false},
		{"a name that ends so", "127.0.0.1:1", "127.0.0.1.nip.example:8080", "", false},
		{"no host", "127.0.0.1:1", "", "", false},
		{"a bad port", "127.0.0.1:1", "localhost:a:b", "", false},
		{"X-Forwarded-For", "127.0.0.1:1", "localhost", "X-Forwarded-For", false},
		{"X-Forwarded-Proto", "127.0.0.1:1", "localhost", "X-Forwarded-Proto", false},
		{"in lower case", "127.0.0.1:1", "localhost", "x-forwarded-host", false},
		{"Forwarded", "127.0.0.1:1", "localhost", "Forwarded", false},
		{"X-Real-IP", "127.0.0.1:1", "localhost", "X-Real-IP", false},
		{"Via", "127.0.0.1:1", "localhost", "Via", false},
		{"of a CDN", "127.0.0.1:1", "localhost", "CF-Connecting-IP", false},
		{"another header", "127.0.0.1:1", "localhost", "X-Request-Id", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr, r.Host = test.peer, test.host
			if test.header != "" {
				r.Header.Set(test.header, "")
			}
			if got := LocalOnly(r); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// nginx that is told nothing but proxy_pass asks so.
func TestLocalOnlyOfHTTP10(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr, r.Host = "127.0.0.1:1", "127.0.0.1:8080"
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.0", 1, 0
	if LocalOnly(r) {
		t.Error("got HTTP/1.0 let in, want it refused")
	}
}

func TestAccess(t *testing.T) {
	yes := func(*http.Request) bool { return true }
	no := func(*http.Request) bool { return false }
	alice := func(*http.Request) (string, bool) { return "alice", true }
	nobody := func(*http.Request) (string, bool) { return "", false }
	type headers map[string]string
	for _, test := range []struct {
		name   string
		cfg    Config
		method string
		path   string
		header headers
		want   int
	}{
		{"a viewer", Config{Viewer: yes}, "GET", "/", nil, 200},
		{"no viewer", Config{Viewer: no}, "GET", "/", nil, 403},
		{"an operator who is no viewer", Config{Viewer: no, Operator: alice}, "GET", "/", nil, 403},
		{"an operator, no Viewer set", Config{Operator: alice}, "GET", "/", nil, 200},
		{"no operator, no Viewer set", Config{Operator: nobody}, "GET", "/", nil, 403},
		{"a file", Config{Viewer: no}, "GET", "/style.css", nil, 403},
		{"the stream", Config{Viewer: no}, "GET", "/events", nil, 403},
		{"the API", Config{Viewer: no}, "GET", "/api/overview.json", nil, 403},
		{"what is not there", Config{Viewer: no}, "GET", "/nothing", nil, 403},
		{"a lookup by a viewer", Config{Viewer: yes}, "POST", "/api/client.json", nil, 400},
		{"a reset by a viewer", Config{Viewer: yes}, "POST", "/reset", nil, 403},
		{"a reset by a viewer, API", Config{Viewer: yes, Operator: nobody}, "POST", "/api/reset.json", nil, 403},
		{"a reset by an operator", Config{Viewer: yes, Operator: alice}, "POST", "/reset", nil, 400},
		{"a reset by GET", Config{Viewer: yes, Operator: alice}, "GET", "/reset", nil, 405},
		{"a lookup by GET", Config{Viewer: yes}, "GET", "/client", nil, 405},
		{"a page by POST", Config{Viewer: yes}, "POST", "/", nil, 405},
		{"a page by HEAD", Config{Viewer: yes}, "HEAD", "/", nil, 200},
		{"same origin", Config{Viewer: yes, Operator: alice}, "POST", "/reset",
			headers{"Sec-Fetch-Site": "same-origin", "Origin": "http://ops.example"}, 400},
		{"same origin, old browser", Config{Viewer: yes, Operator: alice}, "POST", "/reset",
			headers{"Origin": "http://ops.example"}, 400},
		{"cross-site", Config{Viewer: yes, Operator: alice}, "POST", "/reset",
			headers{"Sec-Fetch-Site": "cross-site"}, 403},
		{"same site", Config{Viewer: yes, Operator: alice}, "POST", "/reset",
			headers{"Sec-Fetch-Site": "same-site"}, 403},
		{"a foreign origin", Config{Viewer: yes, Operator: alice}, "POST", "/reset",
			headers{"Origin": "http://evil.example"}, 403},
		{"no origin that is one", Config{Viewer: yes, Operator: alice}, "POST", "/reset",
			headers{"Origin": "null"}, 403},
		{"a cross-site lookup", Config{Viewer: yes}, "POST", "/client", headers{"Sec-Fetch-Site": "cross-site"}, 403},
		{"a link on another site", Config{Viewer: yes}, "GET", "/",
			headers{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200},
		{"another site's script", Config{Viewer: yes}, "GET", "/api/overview.json",
			headers{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403},
		{"another site's stream", Config{Viewer: yes}, "GET", "/events",
			headers{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}, 403},
		{"another port's script", Config{Viewer: yes}, "GET", "/",
			headers{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}, 403},
		{"its own script", Config{Viewer: yes}, "GET", "/api/overview.json",
			headers{"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}, 200},
		{"not there", Config{Viewer: yes}, "GET", "/nothing", nil, 404},
		{"traversal", Config{Viewer: yes}, "GET", "/static/../../etc/passwd", nil, 404},
		{"traversal to a page", Config{Viewer: yes}, "GET", "/a/../stores", nil, 404},
		{"encoded traversal", Config{Viewer: yes}, "GET", "/%2e%2e/%2e%2e/page.js", nil, 404},
		{"backslashes", Config{Viewer: yes}, "GET", "/..%5c..%5cpage.js", nil, 404},
		{"a source file", Config{Viewer: yes}, "GET", "/templates/layout.html", nil, 404},
		{"no such rule", Config{Viewer: yes}, "GET", "/rule?id=<script>", nil, 404},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := New(test.cfg)
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(test.method, "http://ops.example"+test.path, nil)
			for name, value := range test.header {
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			c.ServeHTTP(w, r)
			if w.Code != test.want {
				t.Fatalf("got %d, want %d: %s", w.Code, test.want, w.Body)
			}
			if w.Code == http.StatusForbidden && (w.Body.Len() > 0 || w.Header().Get("Content-Type") != "") {
				t.Errorf("got %q and %v, want nothing", w.Body, w.Header())
			}
			policy := w.Header().Get("Content-Security-Policy")
			if w.Code != http.StatusForbidden && !strings.Contains(policy, "default-src 'none'") {
				t.Errorf("got no policy: %v", w.Header())
			}
		})
	}
}

func TestNewWantsSomebody(t *testing.T) {
	if _, err := New(Config{}); err == nil || !strings.Contains(err.Error(), "Viewer") {
		t.Errorf("got %v, want an error that names Viewer", err)
	}
}

func TestZeroConsole(t *testing.T) {
	var c Console
	w := httptest.NewRecorder()
	c.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusForbidden {
		t.Errorf("got %d, want 403", w.Code)
	}
	c.Observe(t.Context(), observation(httplimit.ResultAllowed, 1, 1)[0])
	c.Close()
}

// The prefix is nothing that the Console knows: whatever is in front of it may strip it or leave it.
func TestPrefixes(t *testing.T) {
	s := newSite(t, byAddress("address", limiter.PerMinute(1)))
	stripped := http.NewServeMux()
	stripped.Handle("/ops/", http.StripPrefix("/ops", s))
	whole := http.NewServeMux()
	whole.Handle("/ops/limits/", s)
	odd := http.NewServeMux()
	odd.Handle("/v1/api/", s)
	for _, test := range []struct {
		name    string
		handler http.Handler
		prefix  string
	}{
		{"the root", s, "/"}, {"stripped", stripped, "/ops/"}, {"whole", whole, "/ops/limits/"},
		{"named api", odd, "/v1/api/"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for path, text := range map[string]string{
				"": "<h2>Rules</h2>", "stores": "memstore", "config": "shop", "style.css": "color-scheme",
				"page.js": "EventSource", "api/overview.json": `"nowSeconds"`,
				"rule?id=" + ruleID("shop", "address"): "address",
			} {
				w := httptest.NewRecorder()
				test.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, test.prefix+path, nil))
				mustContain(t, w, text)
			}
		})
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/outside/ops?x=1", nil) // a router that strips all of it
	http.StripPrefix("/outside/ops", s).ServeHTTP(w, r)
	if got := w.Header().Get("Location"); w.Code != http.StatusMovedPermanently || got != "./ops/" {
		t.Errorf("got %d to %q, want 301 to ./ops/", w.Code, got)
	}
}

// No page has an address that is not relative, an inline script or style, or anything of another host.
func TestPagesAreSelfContained(t *testing.T) {
	s := newSite(t, byAddress("address", limiter.PerMinute(1)))
	s.request("192.0.2.7")
	s.request("192.0.2.7")
	rule := "rule?id=" + ruleID("shop", "address")
	for _, path := range []string{"", "stores", "config", "activity", "clients", rule} {
		body := s.get(path).Body.String()
		for _, bad := range []string{
			"http://", "https://", `href="/`, `src="/`, `action="/`, "style=", "onclick", "<style", "javascript:",
		} {
			if strings.Contains(body, bad) {
				t.Errorf("%s: got %s in the page", path, bad)
			}
		}
		const ours = `<script type="module" src="page.js"></script>`
		if strings.Count(body, "<script") != 1 || !strings.Contains(body, ours) {
			t.Errorf("%s: got other scripts than page.js", path)
		}
	}
}

// What others have chosen is text, wherever it stands.
func TestHostileTexts(t *testing.T) {
	const hostile = `"><script>alert(1)</script><img src=x onerror=y>`
	user := httplimit.Header("X-User")
	both := httplimit.Compose(user, httplimit.ClientIP())
	s := newSite(t,
		httplimit.Rule{Name: `<b onclick="x">'` + "`", Key: user, Limit: limiter.PerDay(1)},
		httplimit.Rule{Name: "javascript:alert(1)//", Key: both, Limit: limiter.PerDay(1)},
	)
	for range 3 {
		s.request("192.0.2.7", func(r *http.Request) { r.Header.Set("X-User", hostile) })
	}
	waitForNextSecond(t, s)
	key, err := s.limits.KeyOf("javascript:alert(1)//", hostile, "192.0.2.7")
	if err != nil {
		t.Fatal(err)
	}
	id := ruleID("shop", "javascript:alert(1)//")
	bodies := map[string]string{
		"overview": s.get("").Body.String(), "rule": s.get("rule?id=" + id).Body.String(),
		"clients": s.get("clients").Body.String(), "config": s.get("config").Body.String(),
		"client": s.post("client", form("rule", id, "key", key), "<i>eve</i>").Body.String(),
		"parts":  s.post("client", form("rule", id, "part", hostile, "part", "192.0.2.7"), "").Body.String(),
		"reset":  s.post("reset", form("rule", id, "key", key), "<i>eve</i>").Body.String(),
		"after":  s.get("activity").Body.String(),
	}
	for page, body := range bodies {
		for _, bad := range []string{"<script>alert", "<img", "<b onclick", "<i>eve", `href="javascript`} {
			if strings.Contains(body, bad) {
				t.Errorf("%s: got %s as markup", page, bad)
			}
		}
	}
	for page, text := range map[string]string{
		"overview": "&lt;script&gt;alert(1)", "client": "&lt;script&gt;alert(1)", "after": "&lt;i&gt;eve",
	} {
		if !strings.Contains(bodies[page], text) {
			t.Errorf("%s: got no %s: %s", page, text, bodies[page])
		}
	}
}
