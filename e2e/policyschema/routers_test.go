package policyschema_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	chimiddleware "github.com/go-chi/chi/v5/middleware"
	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/labstack/echo/v4"
	echomiddleware "github.com/labstack/echo/v4/middleware"

	"github.com/httplimit/httplimit/policy"
)

// router is a framework with one route, POST /login/{name}, that sets reached. Each is set up to forgive all it can.
type router struct {
	name  string
	serve http.Handler
}

func routers(reached *bool) []router {
	reach := func(http.ResponseWriter, *http.Request) { *reached = true }

	mux := http.NewServeMux()
	mux.HandleFunc("POST /login/{name}", reach)

	cleaning := chi.NewRouter()
	cleaning.Use(chimiddleware.CleanPath, chimiddleware.StripSlashes)
	cleaning.Post("/login/{name}", reach)
	plain := chi.NewRouter()
	plain.Post("/login/{name}", reach)

	gin.SetMode(gin.ReleaseMode)
	ginForgiving := gin.New()
	ginForgiving.RemoveExtraSlash, ginForgiving.RedirectFixedPath = true, true
	ginRaw := gin.New()
	ginRaw.UseRawPath, ginRaw.UnescapePathValues = true, true
	for _, g := range []*gin.Engine{ginForgiving, ginRaw} {
		g.POST("/login/:name", func(*gin.Context) { *reached = true })
	}

	e := echo.New()
	e.Pre(echomiddleware.RemoveTrailingSlash(), echomiddleware.Rewrite(map[string]string{"//*": "/$1"}))
	e.POST("/login/:name", func(echo.Context) error { *reached = true; return nil })

	var fibers []router
	for _, cfg := range []fiber.Config{{}, {UnescapePath: true}} {
		f := fiber.New(cfg)
		f.Post("/login/:name", func(*fiber.Ctx) error { *reached = true; return nil })
		fibers = append(fibers, router{fmt.Sprintf("Fiber, UnescapePath %v", cfg.UnescapePath), adaptor.FiberApp(f)})
	}
	return append([]router{
		{"ServeMux", mux}, {"chi", plain}, {"chi, cleaning", cleaning}, {"Gin, forgiving", ginForgiving},
		{"Gin, raw paths", ginRaw}, {"Echo", e},
	}, fibers...)
}

// spellings are ways to write /login/ann, some of which some router takes for it.
func spellings() []string {
	var all []string
	for _, login := range []string{"login", "LOGIN", "%6Cogin", "%6c%6f%67%69%6e", "%256cogin", "login;v=1", "x/../login",
		"./login",
		"x/%2e%2e/login", "x%2f..%2flogin", "/login", "%2flogin", "/./login", "x/..//login"} {
		for _, name := range []string{"/ann", "//ann", "/ann/", "/ANN", "/%61nn", "%2Fann", "/./ann", "/ann?x=/../", "/ann//",
			"/a%2Fb",
			"/x/../ann", "/ann;v=1", `%5cann`, "/%E2%84%AA", "/ann/.", "/ann%2f"} {
			all = append(all, "/"+login+name)
		}
	}
	return all
}

// TestNoSpellingGetsAroundARule: whenever a router calls the handler of a route, the rule with its pattern was for the
// request.
func TestNoSpellingGetsAroundARule(t *testing.T) {
	p, err := policy.Parse([]byte(
		`{"rules": [{"name": "login", "key": "ip", "limit": "5/m", "when": ["POST /login/{name}"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := p.Config(policy.Names{})
	if err != nil {
		t.Fatal(err)
	}
	applies := cfg.Rules[0].When
	var reached bool
	for _, r := range routers(&reached) {
		t.Run(r.name, func(t *testing.T) {
			handled := 0
			for _, target := range spellings() {
				u, err := url.ParseRequestURI(target)
				if err != nil {
					t.Fatal(err)
				}
				// A chain of redirects is followed, as clients do: it ends at a request of its own.
				for range 4 {
					request := httptest.NewRequest(http.MethodPost, "/", nil)
					request.URL, request.RequestURI = u, u.RequestURI()
					limited := applies(request)
					reached = false
					w := httptest.NewRecorder()
					r.serve.ServeHTTP(w, request)
					if reached {
						handled++
						if !limited {
							t.Errorf("%s reaches the handler as %s, and the rule is not for it", target, u)
						}
						break
					}
					next, err := url.ParseRequestURI(w.Header().Get("Location"))
					if err != nil {
						break
					}
					u = next
				}
			}
			t.Logf("%d of %d spellings reach the handler", handled, len(spellings()))
			if handled == 0 {
				t.Error("no spelling reaches the handler")
			}
		})
	}
}
