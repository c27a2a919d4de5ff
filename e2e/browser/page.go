package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Page is one open page. Its methods are for one goroutine at a time.
type Page struct {
	ctx   context.Context
	url   string
	close func()

	mu       sync.Mutex
	faults   []string
	requests []string
}

// Close closes the tab. A browser has only six connections to an address, and a page that streams holds one.
func (p *Page) Close() { p.close() }

// Front brings the tab to the front, where the one that was there is hidden by it.
func (p *Page) Front(t testing.TB) {
	t.Helper()
	p.Do(t, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, page.BringToFront, cdp.Empty{})
		return err
	}))
}

// note is called for every event of the page from its first byte on.
func (p *Page) note(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		p.faults = append(p.faults, "exception: "+e.ExceptionDetails.Text+" "+text(e.ExceptionDetails.Exception))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			p.faults = append(p.faults, fmt.Sprintf("console.%s: %s", e.Type, text(e.Args...)))
		}
	case *log.EventEntryAdded: // what the browser itself complains about: blocked, missing, deprecated
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			p.faults = append(p.faults, fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *page.EventJavascriptDialogOpening:
		p.faults = append(p.faults, "dialog: "+e.Message)
	}
}

func text(values ...*runtime.RemoteObject) string {
	texts := make([]string, 0, len(values))
	for _, v := range values {
		if v != nil {
			texts = append(texts, string(v.Value)+v.Description)
		}
	}
	return strings.Join(texts, " ")
}

// Faults is what the console has said so far that it should not: errors, warnings, exceptions, what the page's own
// policy blocked, dialogs.
func (p *Page) Faults() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.faults)
}

// Requests is what the page has asked for so far, but for itself and data in its own text.
func (p *Page) Requests() (others []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, url := range p.requests {
		if url != p.url && !strings.HasPrefix(url, "data:") {
			others = append(others, url)
		}
	}
	return others
}

// URL is the address of the page, as somebody would see it above it.
func (p *Page) URL(t testing.TB) string { t.Helper(); return Eval[string](t, p, "location.href") }

// StaysWithin fails the test if the page has asked for anything whose address does not begin with folder.
func (p *Page) StaysWithin(t testing.TB, folder string) {
	t.Helper()
	for _, url := range p.Requests() {
		if !strings.HasPrefix(url, folder) {
			t.Errorf("browser: %s asked for %s, which is not under %s", p.url, url, folder)
		}
	}
}

// Do runs steps of chromedp, and fails the test if they do not succeed within a minute.
func (p *Page) Do(t testing.TB, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatalf("browser: %s: %v", p.url, err)
	}
}

// Get runs a step of chromedp that has a value, as Do does.
func Get[T any](t testing.TB, p *Page, step chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, step)
	if err != nil {
		t.Fatalf("browser: %s: %v", p.url, err)
	}
	return value
}

// Eval returns the value of a JavaScript expression in the page, decoded as JSON.
func Eval[T any](t testing.TB, p *Page, expression string) T {
	t.Helper()
	return Get(t, p, chromedp.Evaluate[T](expression))
}

// Press presses keys one after the other, as chromedp's package kb names them.
func (p *Page) Press(t testing.TB, keys ...string) {
	t.Helper()
	for _, key := range keys {
		p.Do(t, chromedp.KeyEvent(key))
	}
}

// Screenshot keeps a picture of the whole page, to be looked at, as a PNG in the folder that HTTPLIMIT_SCREENSHOTS
// names. If that is not set it does nothing.
func (p *Page) Screenshot(t testing.TB, name string) {
	t.Helper()
	folder := os.Getenv("HTTPLIMIT_SCREENSHOTS")
	if folder == "" {
		return
	}
	picture := Get(t, p, chromedp.FullScreenshot(100))
	if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644); err != nil {
		t.Fatalf("browser: %v", err)
	}
}
