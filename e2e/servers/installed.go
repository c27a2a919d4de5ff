package servers

import (
	"os"
	"os/exec"
	"testing"
)

// packages are the Debian packages of programs that have another name.
var packages = map[string]string{"redis-cli": "redis-server", "promtool": "prometheus"}

// RequireInstalled skips the test if a binary is missing, or fails it if HTTPLIMIT_SERVERS=required.
func RequireInstalled(t testing.TB, binaries ...string) {
	t.Helper()
	for _, binary := range binaries {
		_, err := exec.LookPath(binary)
		if err == nil {
			continue
		}
		if os.Getenv("HTTPLIMIT_SERVERS") == "required" {
			t.Fatalf("servers: HTTPLIMIT_SERVERS=required, but: %v", err)
		}
		name := binary
		if packages[binary] != "" {
			name = packages[binary]
		}
		t.Skipf("servers: %v (Debian, Ubuntu: apt-get install %s)", err, name)
	}
}
