package accesslog_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/accesslog"
)

// Each format has a target of its own: whatever a log holds, reading it ends, without a panic, after as many calls as
// it has lines, and no entry is without a client.

func FuzzCommon(f *testing.F)  { fuzz(f, "common") }
func FuzzVhost(f *testing.F)   { fuzz(f, "vhost") }
func FuzzNginx(f *testing.F)   { fuzz(f, nginxFormat) }
func FuzzCaddy(f *testing.F)   { fuzz(f, "caddy") }
func FuzzTraefik(f *testing.F) { fuzz(f, "traefik") }
func FuzzALB(f *testing.F)     { fuzz(f, "alb") }
func FuzzGCP(f *testing.F)     { fuzz(f, "gcp") }
func FuzzLTSV(f *testing.F)    { fuzz(f, "ltsv") }
func FuzzCSV(f *testing.F)     { fuzz(f, "csv") }
func FuzzJSONL(f *testing.F)   { fuzz(f, "jsonl") }
func FuzzAuto(f *testing.F)    { fuzz(f, "auto") } // the packed forms too

func fuzz(f *testing.F, format string) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) == 0 {
		f.Fatal("there are no fixtures", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		if format == "auto" {
			f.Add(gzipped(text))
			f.Add(zstandard(text))
		}
	}
	const most = 1 << 20
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := accesslog.Open(bytes.NewReader(text), accesslog.Options{Format: format, MaxBytes: most})
		if err != nil {
			return
		}
		defer l.Close()
		for calls := 0; ; calls++ {
			e, err := l.Next()
			var bad *accesslog.BadLine
			switch {
			case calls > most:
				t.Fatal("there are more lines than bytes")
			case err == nil && (e.Client == "" || len(e.Client) > 255 || e.At < 0):
				t.Fatalf("an entry without a client or a time: %+v", e)
			case err == nil, errors.As(err, &bad):
			default:
				if again, err := l.Next(); errors.Is(err, io.EOF) == (err == nil) {
					t.Fatalf("after its end the log goes on: %+v, %v", again, err)
				}
				return
			}
		}
	})
}

func FuzzFormat(f *testing.F) {
	f.Add(nginxFormat, "")
	f.Add(`nginx:log_format main '$remote_addr [$time_local] ' '"$request"';`, "")
	f.Add("jsonl", "time=ts,client=http.client_ip,header.X-User=user")
	f.Fuzz(func(t *testing.T, format, mapping string) {
		if accesslog.CheckFormat(format, mapping) != nil {
			return
		}
		l, err := accesslog.Open(bytes.NewReader([]byte(fixtureText(t, "nginx.log"))),
			accesslog.Options{Format: format, Map: mapping})
		if err != nil {
			return
		}
		defer l.Close()
		for {
			var bad *accesslog.BadLine
			if _, err := l.Next(); err != nil && !errors.As(err, &bad) {
				return
			}
		}
	})
}
