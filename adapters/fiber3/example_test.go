package fiber3limit_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/gofiber/fiber/v3"
	"github.com/httplimit/httplimit"
	fiber3limit "github.com/httplimit/httplimit/adapters/fiber3"
	"github.com/httplimit/httplimit/limiter"
)

func ExampleNew() {
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerMinute(2)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	app := fiber.New()
	app.Use(fiber3limit.New(m))
	app.Get("/", func(c fiber.Ctx) error { return c.SendString("hello") })

	for range 3 {
		status, body := ask(app, "")
		body, _, _ = strings.Cut(body, `,"retry_after"`) // which depends on the time of day
		fmt.Println(status, body)
	}
	// Output:
	// 200 hello
	// 200 hello
	// 429 {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,"violated-policies":["ip"],"limits":[{"policy":"ip","quota":2,"window":60}]
}

func ExampleConfig() {
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerMinute(100), Cost: all},
	}})
	if err != nil {
		log.Fatal(err)
	}
	app := fiber.New()
	app.Use(fiber3limit.New(m, fiber3limit.Config{OnDeny: func(c fiber.Ctx, d httplimit.Denial) error {
		rule, _ := d.Rule() // none where the rule is Private
		return c.Status(d.Status).SendString(fmt.Sprintf("too many for %q", rule.Rule))
	}}))

	fmt.Println(ask(app, ""))
	// Output: 429 too many for "ip"
}

// all costs more than there is.
func all(*http.Request) (int64, error) { return 101, nil }

// The user is what earlier middleware has found out. Without one, the address is what counts.
func ExampleFrom() {
	user := func(r *http.Request) (string, error) {
		c, ok := fiber3limit.From(r)
		if !ok {
			return "", httplimit.ErrNoKey
		}
		name, ok := c.Locals("user").(string)
		if !ok {
			return "", httplimit.ErrNoKey
		}
		return name, nil
	}
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "user", Key: httplimit.KeyFunc(user), Limit: limiter.PerMinute(1)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	authenticate := func(c fiber.Ctx) error {
		c.Locals("user", c.Get("X-Verified-User"))
		return c.Next()
	}
	app := fiber.New()
	app.Get("/", authenticate, fiber3limit.New(m), func(c fiber.Ctx) error { return c.SendString("hello") })

	for _, name := range []string{"alice", "bob", "alice"} {
		status, _ := ask(app, name)
		fmt.Println(name, status)
	}
	// Output:
	// alice 200
	// bob 200
	// alice 429
}

// ask sends a request as a user whom somebody has verified.
func ask(app *fiber.App, user string) (status int, body string) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("X-Verified-User", user)
	response, err := app.Test(r)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	return response.StatusCode, string(text)
}
