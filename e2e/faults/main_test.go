package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/httplimit/httplimit/e2e/servers"
)

// TestMain also checks that no goroutine is left when all tests are over.
func TestMain(m *testing.M) {
	before := runtime.NumGoroutine()
	code := servers.Main(m)
	http.DefaultClient.CloseIdleConnections()
	for start := time.Now(); runtime.NumGoroutine() > before; time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > patience {
			fmt.Fprintf(os.Stderr, "%d goroutines are left, want %d:\n", runtime.NumGoroutine(), before)
			_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
			code = max(code, 1)
			break
		}
	}
	os.Exit(code)
}

// rowLabel is the pprof label of a row's goroutines.
const rowLabel = "row"

// beside lets the row run beside others, and labels its goroutine: all that are started from it, by the servers and
// clients of the row too, inherit the label.
func beside(t *testing.T) {
	t.Helper()
	t.Parallel()
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(rowLabel, t.Name())))
}
