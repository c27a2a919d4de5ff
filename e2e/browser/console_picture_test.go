package browser_test

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit/e2e/browser"
	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/examples/console/shop"
)

// TestPictureOfTheConsole makes the picture that stands in the README, docs/console.png, anew, once there are as many
// minutes to see as are asked for:
//
//	HTTPLIMIT_PICTURE_MINUTES=10 HTTPLIMIT_SCREENSHOTS=$PWD/docs \
//		go -C e2e test -timeout 20m -run TestPictureOfTheConsole ./browser/
func TestPictureOfTheConsole(t *testing.T) {
	minutes, err := strconv.Atoi(os.Getenv("HTTPLIMIT_PICTURE_MINUTES"))
	if err != nil {
		t.Skip("HTTPLIMIT_PICTURE_MINUTES is no number, so nobody wants a picture")
	}
	enough := fmt.Sprintf("Refused in %d min", minutes)
	s, err := shop.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	listener := servers.Listen(t)
	server := &http.Server{Handler: s, ReadHeaderTimeout: patience}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	go s.Traffic(t.Context())

	p := browser.Start(t).Open(t, "http://"+listener.Addr().String()+"/ops/limits/", browser.Look{Width: 1280})
	for deadline := time.Now().Add(time.Duration(minutes+2) * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		text := browser.Eval[string](t, p, `document.getElementById("figures").textContent`)
		if strings.Contains(text, enough) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the page never says %q: %s", enough, text)
		}
	}
	p.Screenshot(t, "console")
	none(t, "fault", p.Faults())
}
