package fiber3limit_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gofiber/fiber/v3"
	"github.com/httplimit/httplimit"
	fiber3limit "github.com/httplimit/httplimit/adapters/fiber3"
)

func TestAddressOverAllLinesOfTheHead(t *testing.T) {
	const lines = "X-Forwarded-For: 203.0.113.66\nX-Forwarded-For: 198.51.100.1, 192.0.2.7\nX-Forwarded-For: 10.0.0.3\n"
	fibers := fiber.Config{
		ProxyHeader:      "X-Forwarded-For",
		TrustProxy:       true,
		TrustProxyConfig: fiber.TrustProxyConfig{Proxies: []string{"127.0.0.1"}},
	}
	raws := fiber.Config{DisableHeaderNormalizing: true}
	tests := map[string]struct {
		config fiber.Config
		method string
		fields string
		body   string
		bad    bool // fasthttp knows X-Forwarded-For, and refuses it in a trailer
	}{
		"repeated lines":               {fields: lines},
		"Fiber's own proxy settings":   {config: fibers, fields: lines + "X-Real-Ip: 203.0.113.67\n"},
		"any spelling":                 {fields: strings.ToLower(lines)},
		"any spelling, not normalized": {config: raws, fields: strings.ToLower(lines)},
		"two spellings, not normalized": {
			config: raws,
			fields: "X-Forwarded-For: 203.0.113.66\nx-forwarded-for: 192.0.2.7\n",
		},
		"empty body": {method: "POST", fields: lines + "Content-Length: 0\n"},
		"body":       {method: "POST", fields: lines + "Content-Length: 2\n", body: "hi"},
		"trailer": {
			method: "POST",
			fields: lines + "Transfer-Encoding: chunked\n",
			body:   "2\nhi\n0\nX-Forwarded-For: 203.0.113.66\n\n",
			bad:    true,
		},
		"trailer after an empty body": {
			method: "POST",
			fields: lines + "Transfer-Encoding: chunked\n",
			body:   "0\nX-Forwarded-For: 203.0.113.66\n\n",
			bad:    true,
		},
		"trailer of a GET": {
			fields: lines + "Transfer-Encoding: chunked\n",
			body:   "0\nX-Forwarded-For: 203.0.113.66\n\n",
			bad:    true,
		},
		"announced trailer": {
			method: "POST",
			fields: lines + "Trailer: X-Forwarded-For\nTransfer-Encoding: chunked\n",
			body:   "0\nX-Forwarded-For: 203.0.113.66\n\n",
			bad:    true,
		},
		"trailer, not normalized": {
			config: raws,
			method: "POST",
			fields: lines + "transfer-encoding: chunked\n",
			body:   "0\nx-forwarded-for: 203.0.113.66\n\n",
			bad:    true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			store := newSpy(t)
			app := newApp(tt.config)
			app.Use(behindProxy(t, store))
			app.All("/", hello)
			if tt.method == "" {
				tt.method = "GET"
			}
			address := listen(t, app, "tcp", "127.0.0.1:0").String()
			answer := raw(t, "tcp", address, tt.method+" / HTTP/1.1\nHost: x\nConnection: close\n"+tt.fields+"\n"+tt.body)
			if tt.bad {
				if !strings.HasPrefix(answer, "HTTP/1.1 400") || slices.Contains(store.keys(), "203.0.113.66") {
					t.Errorf("counted by %q, and answered %s, want 400, and no key of the trailer", store.keys(), answer)
				}
				return
			}
			if !strings.HasPrefix(answer, "HTTP/1.1 200") {
				t.Fatalf("got %s", answer)
			}
			if got, want := store.keys(), []string{"192.0.2.7"}; !slices.Equal(got, want) {
				t.Errorf("got the keys %q, want %q", got, want)
			}
		})
	}
}

func TestTrailerIsNoField(t *testing.T) {
	var header http.Header
	key := httplimit.KeyFunc(func(r *http.Request) (string, error) { header = r.Header; return "", nil })
	app := newApp()
	app.Use(fiber3limit.New(limit(t, nil, httplimit.Rule{Name: "user", Key: key})))
	raw(t, "tcp", listen(t, app, "tcp", "127.0.0.1:0").String(),
		"POST / HTTP/1.1\nHost: x\nConnection: close\nTransfer-Encoding: chunked\n\n2\nhi\n0\nX-User: root\n\n")
	if got := header.Get("X-User"); got != "" || header.Get("Transfer-Encoding") != "chunked" {
		t.Errorf("got %v, want no X-User", header)
	}
}

// TestCredentialInATrailer: c.Get finds it there, so it counts, and one in the head beside another one is ambiguous.
func TestCredentialInATrailer(t *testing.T) {
	const chunked = "Transfer-Encoding: chunked\n\n2\nhi\n0\nX-Api-Key: good\n\n"
	for name, tt := range map[string]struct{ head, like string }{
		"in the trailer alone":         {chunked, "X-Api-Key: good\n\n"},
		"as in the head":               {"X-Api-Key: good\n" + chunked, "X-Api-Key: good\n\n"},
		"another one than in the head": {"X-Api-Key: junk\n" + chunked, "X-Api-Key: a\nX-Api-Key: b\n\n"},
	} {
		for _, spelled := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, not normalized %v", name, spelled), func(t *testing.T) {
				store := newSpy(t)
				app := newApp(fiber.Config{DisableHeaderNormalizing: spelled})
				app.Use(fiber3limit.New(limit(t, store, httplimit.Rule{Name: "key", Key: httplimit.APIKey("X-API-Key")})))
				app.All("/", hello)
				address := listen(t, app, "tcp", "127.0.0.1:0").String()
				for _, rest := range []string{tt.head, tt.like} {
					raw(t, "tcp", address, "POST / HTTP/1.1\nHost: x\nConnection: close\n"+rest)
				}
				if keys := store.keys(); len(keys) != 2 || keys[0] != keys[1] {
					t.Errorf("got the keys %q, want the same twice", keys)
				}
			})
		}
	}
}

// TestCookiesAreThoseOfFiber: the session that counts is the one that c.Cookies finds, in whatever form it was sent.
func TestCookiesAreThoseOfFiber(t *testing.T) {
	ofRequest := httplimit.KeyFunc(func(r *http.Request) (string, error) {
		c, err := r.Cookie("sid")
		if err != nil {
			return "", httplimit.ErrNoKey
		}
		return c.Value, nil
	})
	for name, lines := range map[string]string{
		"spaces before the value":      "Cookie: sid=   good",
		"quotes behind a space":        `Cookie: sid= "good"; sid=junk`,
		"a tab in another name":        "Cookie: sid\t=junk; sid=good",
		"a value without a name":       "Cookie: sid; sid=good",
		"another value without a name": "Cookie: =sid=junk; sid=good",
		"two lines":                    "Cookie: a=b; sid=good\nCookie: sid=junk",
		"no other cookie":              "Cookie: sid=good",
	} {
		for kind, key := range map[string]httplimit.Key{"Cookie": httplimit.Cookie("sid"), "KeyFunc": ofRequest} {
			for _, spelled := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s, not normalized %v", name, kind, spelled), func(t *testing.T) {
					store := newSpy(t)
					app := newApp(fiber.Config{DisableHeaderNormalizing: spelled})
					app.Use(fiber3limit.New(limit(t, store, httplimit.Rule{Name: "session", Key: key})))
					app.Get("/", func(c fiber.Ctx) error { return c.SendString(c.Cookies("sid")) })
					address := listen(t, app, "tcp", "127.0.0.1:0").String()
					for _, cookies := range []string{"Cookie: sid=good", lines} {
						answer := raw(t, "tcp", address, "GET / HTTP/1.1\nHost: x\nConnection: close\n"+cookies+"\n\n")
						if !strings.HasSuffix(answer, "good") {
							t.Errorf("the handler of %q answered %q, want good", cookies, answer)
						}
					}
					if keys := store.keys(); len(keys) != 2 || keys[0] != keys[1] {
						t.Errorf("got the keys %q, want the same twice", keys)
					}
				})
			}
		}
	}
}

// Every client has a key of its own, a header's, and the server reuses the buffers that it was read into.
func TestParallelClientsKeepTheirKeys(t *testing.T) {
	const clients, requests = 50, 20
	store := newSpy(t)
	app := newApp()
	app.Use(fiber3limit.New(limit(t, store, httplimit.Rule{Name: "tenant", Key: httplimit.Header("X-Tenant")})))
	app.Get("/", func(c fiber.Ctx) error {
		v := httplimit.Verdicts(c.Context())
		return c.SendString(fmt.Sprint(v[0].Remaining))
	})
	url := serve(t, app)

	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			client := http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for n := range requests {
				if got, err := askTenant(&client, url, tenant(i)); err != nil || got != fmt.Sprint(99-n) {
					t.Errorf("%s, request %d: got %q, %v, want %d remaining", tenant(i), n+1, got, err, 99-n)
				}
			}
		})
	}
	wg.Wait()

	count := make(map[string]int)
	for _, key := range store.keys() {
		count[key]++
	}
	for i := range clients {
		if got := count[tenant(i)]; got != requests {
			t.Errorf("%s was counted %d times, want %d", tenant(i), got, requests)
		}
	}
	if len(count) != clients {
		t.Errorf("there are %d keys, want %d", len(count), clients)
	}
}

func tenant(i int) string { return fmt.Sprintf("tenant-%02d", i) }

func askTenant(client *http.Client, url, tenant string) (remaining string, err error) {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("X-Tenant", tenant)
	response, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	_, err = fmt.Fscan(response.Body, &remaining)
	return remaining, err
}

// Fiber's strings lie in the request's buffers. A KeyFunc may return one all the same, and the key of a field is one.
func TestKeysMayBeFibersStrings(t *testing.T) {
	for name, key := range map[string]httplimit.Key{
		"Header": httplimit.Header("X-Tenant"),
		"KeyFunc": httplimit.KeyFunc(func(r *http.Request) (string, error) {
			c, _ := fiber3limit.From(r)
			return c.Get("X-Tenant"), nil
		}),
	} {
		t.Run(name, func(t *testing.T) {
			store := newSpy(t)
			app := newApp()
			app.Use(fiber3limit.New(limit(t, store, httplimit.Rule{Name: "tenant", Key: key, CountStatus: found})))
			app.Get("/none", func(c fiber.Ctx) error {
				c.Request().Header.Set("X-Tenant", "blue-two") // in place
				return fiber.ErrNotFound
			})
			url := serve(t, app)
			send(t, http.MethodGet, url+"/none", http.Header{"X-Tenant": {"red-five"}})
			if got := store.keys(); len(got) != 2 || got[1] != "red-five" {
				t.Errorf("charged and gave back to %q, want red-five in the end", got)
			}
		})
	}
}

func found(status int) bool { return status != http.StatusNotFound }
