package servers

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Nginx starts one nginx with the locations of its only server, as text of its configuration.
func Nginx(t testing.TB, locations string) *Server {
	t.Helper()
	folder, ready := t.TempDir(), "/"+rand.Text()
	file := filepath.Join(folder, "nginx.conf")
	return start(t, program{
		binary: "nginx",
		args: func(port int) []string {
			text := fmt.Sprintf(`daemon off; master_process off; pid nginx.pid; error_log stderr;
events {}
http {
	access_log off;
	client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi;
	scgi_temp_path scgi;
	server {
		listen %s;
		location = %s { return 200; }
		%s
	}
}
`, loopback(port), ready, locations)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Errorf("servers: %v", err)
			}
			return []string{"-p", folder, "-c", file, "-e", "stderr"}
		},
		path: ready,
	}, freePort)
}
