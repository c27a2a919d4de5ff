// Package browser opens pages in a real, headless Chromium for tests, and says what is wrong with them: errors on the
// console, requests that leave the page, texts without contrast, parts that are cut off, an order of the keyboard that
// jumps.
//
// Where Chromium is not installed the test is skipped, with a message, unless HTTPLIMIT_SERVERS=required is set: then
// it fails.
package browser

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/httplimit/httplimit/e2e/servers"
)

// patience is for one step of a test on a busy machine; on an idle one it takes milliseconds.
const patience = 60 * time.Second

// Browser is one Chromium process. It ends with the test that started it.
type Browser struct{ ctx context.Context }

// Start starts a Chromium with an empty profile.
func Start(t testing.TB) *Browser {
	t.Helper()
	servers.RequireInstalled(t, "chromium")
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath("chromium"), chromedp.Flag("hide-scrollbars", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses to run as root with it
	}
	process, end := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(end)
	ctx, closeBrowser := chromedp.NewContext(process)
	t.Cleanup(closeBrowser)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("browser: start chromium: %v", err)
	}
	return &Browser{ctx: ctx}
}

// Look is how somebody looks at a page.
type Look struct {
	Width, Height int64 // in CSS pixels; 0 means 1024 by 900
	Dark          bool
	NoScripts     bool
	Print         bool // as it would be printed
	// SharesWindow opens the page in the window that was opened last, where it hides the tab that was in front. Any
	// other page has a window of its own, and is never hidden.
	SharesWindow bool
}

// Open opens a page in a tab of its own, which is closed with the test or by [Page.Close], and returns when it is
// loaded.
func (b *Browser) Open(t testing.TB, url string, look Look) *Page {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(b.ctx, chromedp.WithNewWindow(!look.SharesWindow))
	t.Cleanup(closeTab)
	p := &Page{ctx: ctx, url: url, close: closeTab}
	if err := chromedp.Listen(ctx, p.note); err != nil { // the first call with ctx opens the tab, for as long as ctx
		t.Fatalf("browser: open a tab: %v", err)
	}
	p.Do(t, look.emulated(), chromedp.Navigate(url))
	return p
}

func (l Look) emulated() chromedp.Action[chromedp.Void] {
	if l.Width == 0 {
		l.Width = 1024
	}
	if l.Height == 0 {
		l.Height = 900
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: "light"}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}}
	if l.Dark {
		media.Features[0].Value = "dark"
	}
	if l.Print {
		media.Media = "print"
	}
	noScripts := emulation.SetScriptExecutionDisabledParams{Value: l.NoScripts}
	return chromedp.Steps(
		chromedp.EmulateViewport(l.Width, l.Height),
		chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
			if _, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, media); err != nil {
				return err
			}
			_, err := cdp.Call(ctx, tab, emulation.SetScriptExecutionDisabled, noScripts)
			return err
		}))
}
