package servers

import (
	"os"
	"os/exec"
	"testing"
)

// requireInstalled skips the test if a binary is missing, or fails it if HTTPLIMIT_SERVERS=required.
func requireInstalled(t testing.TB, binaries ...string) {
	t.Helper()
	for _, binary := range binaries {
		_, err := exec.LookPath(binary)
		if err == nil {
			continue
		}
		if os.Getenv("HTTPLIMIT_SERVERS") == "required" {
			t.Fatalf("servers: HTTPLIMIT_SERVERS=required, but: %v", err)
		}
		t.Skipf("servers: %v (Debian, Ubuntu: apt-get install redis-server memcached)", err)
	}
}
