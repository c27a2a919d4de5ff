package accesslog_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/accesslog"
)

// nineFifteen is the moment at which all fixtures begin.
var nineFifteen = time.Date(2025, 3, 3, 9, 15, 0, 0, time.UTC).UnixMilli()

const nginxFormat = `nginx:$remote_addr [$time_iso8601] $msec "$request" $status "$http_user_agent" ` +
	`"$http_x_forwarded_for" "$http_x_user" sid=$cookie_sid`

var referer = []accesslog.Field{{Name: "Referer", Value: "https://example.org/"}}

// fixtures are logs written for these tests, with what they tell and how many lines of them nobody can read.
var fixtures = []struct {
	file, format, mapping string
	detected              bool // without a format
	want                  []accesslog.Entry
	bad                   int
}{
	{file: "common.log", format: "common", detected: true, want: []accesslog.Entry{
		{At: nineFifteen - 3600e3, Whole: true, Client: "192.0.2.10", Method: "GET", Target: "/index.html", Status: 200},
		{At: nineFifteen - 3599e3, Whole: true, Client: "2001:db8:1:2::7", User: "alice", Method: "POST", Target: "/login",
			Status: 302},
		{At: nineFifteen - 3598e3, Whole: true, Client: "host.example.net", Method: "GET", Target: "/", Status: 404},
	}},
	{file: "combined.log", format: "combined", detected: true, bad: 4, want: []accesslog.Entry{
		{At: nineFifteen, Whole: true, Client: "192.0.2.10", Method: "GET", Target: "/a?q=1", Status: 200,
			Agent: "Mozilla/5.0 (X11; Linux x86_64)", Header: referer},
		{At: nineFifteen, Whole: true, Client: "192.0.2.11", User: "bob smith", Method: "GET", Target: "/b", Status: 200,
			Agent: `say "hi" \ "bye"`},
		{At: nineFifteen + 1000, Whole: true, Client: "192.0.2.12", Status: 408},
		{At: nineFifteen + 1000, Whole: true, Client: "192.0.2.13", Status: 400},
		{At: nineFifteen + 2000, Whole: true, Client: "192.0.2.14", Method: "GET", Target: "/c", Status: 200,
			Agent: "curl/8.5.0", Forwarded: "198.51.100.7, 203.0.113.9"},
		{At: nineFifteen + 3000, Whole: true, Client: "192.0.2.15", Method: "GET", Target: "/d e", Status: 200,
			Agent: "curl/8.5.0"},
		{At: nineFifteen + 4000, Whole: true, Client: "192.0.2.16", Method: "GET", Target: "/e", Status: 200,
			Agent: "curl/8.5.0", Forwarded: "198.51.100.7, 203.0.113.9"},
	}},
	{file: "vhost.log", format: "vhost", detected: true, want: []accesslog.Entry{
		{At: nineFifteen, Whole: true, Client: "192.0.2.10", Host: "shop.example.com:443", Method: "GET", Target: "/a",
			Status: 200, Agent: "curl/8.5.0"},
		{At: nineFifteen + 1000, Whole: true, Client: "2001:db8::1", User: "carol", Host: "www.example.com", Method: "GET",
			Target: "/b", Status: 200, Agent: "curl/8.5.0"},
	}},
	{file: "nginx.log", format: nginxFormat, bad: 1, want: []accesslog.Entry{
		{At: nineFifteen, Whole: true, Client: "192.0.2.10", Method: "GET", Target: "/a", Status: 200, Agent: `curl "x"`,
			Forwarded: "198.51.100.7",
			Header:    []accesslog.Field{{Name: "x-user", Value: "u-1"}, {Name: "Cookie", Value: "sid=abc"}}},
		{At: nineFifteen + 1000, Whole: true, Client: "192.0.2.11", Method: "POST", Target: "/b", Status: 401},
	}},
	{file: "caddy.jsonl", format: "caddy", detected: true, bad: 2, want: []accesslog.Entry{
		{At: nineFifteen + 250, Client: "192.0.2.10", Peer: "10.0.0.5", Forwarded: "203.0.113.1, 192.0.2.10", Method: "GET",
			Target: "/a?x=1", Host: "example.com", Status: 200, Agent: "curl/8.5.0", User: "bob",
			Header: []accesslog.Field{{Name: "X-User", Value: "u-1"}}},
		{At: 1600000000500, Client: "192.0.2.11", Method: "POST", Target: "/b", Host: "example.com", Status: 403,
			Agent: "curl/7.0"},
		{At: nineFifteen + 2125, Client: "192.0.2.12", Method: "GET", Target: "/c", Host: "example.com"},
	}},
	{file: "traefik.jsonl", format: "traefik", detected: true, bad: 1, want: []accesslog.Entry{
		{At: nineFifteen + 250, Client: "192.0.2.10", Method: "GET", Target: "/a", Host: "example.com", Status: 200,
			Agent: "curl/8.5.0", Header: []accesslog.Field{{Name: "X-User", Value: "u-1"}}},
		{At: nineFifteen + 1000, Whole: true, Client: "192.0.2.11", Forwarded: "203.0.113.1", User: "bob", Method: "POST",
			Target: "/b?c=d", Host: "example.com", Status: 404},
	}},
	{file: "alb.log", format: "alb", detected: true, bad: 1, want: []accesslog.Entry{
		{At: nineFifteen + 250, Client: "192.0.2.10", Method: "GET", Target: "https://www.example.com:443/a?b=c",
			Host: "www.example.com:443", Status: 200, Agent: "curl/8.5.0"},
		{At: nineFifteen + 1000, Client: "2001:db8::1", Status: 460},
		{At: nineFifteen + 2500, Client: "192.0.2.12", Method: "GET", Target: "http://www.example.com:80/c",
			Host: "www.example.com:80", Status: 404, Agent: "agent"},
	}},
	{file: "gcp.jsonl", format: "gcp", detected: true, bad: 1, want: []accesslog.Entry{
		{At: nineFifteen + 250, Client: "192.0.2.10", Method: "GET", Target: "https://example.com/a?b=c", Host: "example.com",
			Status: 200, Agent: "curl/8.5.0", Header: referer},
		{At: nineFifteen + 1000, Whole: true, Client: "2001:db8::1", Method: "POST", Target: "https://example.com/b",
			Host: "example.com", Status: 502},
	}},
	{file: "ltsv.log", format: "ltsv", detected: true, bad: 2, want: []accesslog.Entry{
		{At: nineFifteen, Whole: true, Client: "192.0.2.10", Host: "example.com", Method: "GET", Target: "/a?b=c",
			Status: 200,
			Agent:  "curl/8.5.0"},
		{At: nineFifteen + 1000, Whole: true, Client: "192.0.2.11", Forwarded: "203.0.113.1", User: "bob", Method: "POST",
			Target: "/b?c=d", Status: 201},
	}},
	{file: "requests.csv", format: "csv",
		mapping:  "time=ts,client=ip,path=uri,status=code,method=verb,agent=ua,header.X-Tenant=tenant",
		detected: true, bad: 2, want: []accesslog.Entry{
			{At: nineFifteen + 250, NoZone: true, Client: "192.0.2.10", Method: "GET", Target: "/a", Status: 200,
				Agent: `curl, "the" tool`, Header: []accesslog.Field{{Name: "X-Tenant", Value: "t1"}}},
			{At: nineFifteen + 1000, Whole: true, NoZone: true, Client: "192.0.2.11", Method: "POST", Target: "/b", Status: 404,
				Agent: "curl/8.5.0", Header: []accesslog.Field{{Name: "X-Tenant", Value: "t2"}}},
		}},
	{file: "requests.jsonl", format: "jsonl", mapping: "client=http.client_ip", detected: true, bad: 2,
		want: []accesslog.Entry{
			{At: nineFifteen + 250, Client: "192.0.2.10", Method: "GET", Target: "/a?b=c", Status: 200, Agent: "curl/8.5.0",
				Header: []accesslog.Field{{Name: "X-User", Value: "u-1"}}},
			{At: nineFifteen + 1000, Whole: true, Client: "192.0.2.11", Method: "POST", Target: "/b", Status: 404},
		}},
}

func TestFormats(t *testing.T) {
	for _, f := range fixtures {
		t.Run(f.file, func(t *testing.T) {
			formats := []string{f.format}
			if f.detected {
				formats = append(formats, "auto")
			}
			for _, format := range formats {
				text, err := os.Open(filepath.Join("testdata", f.file))
				if err != nil {
					t.Fatal(err)
				}
				defer text.Close()
				l, err := accesslog.Open(text, accesslog.Options{Format: format, Map: f.mapping})
				if err != nil {
					t.Fatalf("Open with the format %s: %v", format, err)
				}
				defer l.Close()
				if l.Format() != f.format {
					t.Errorf("with the format %s Format() = %q, want %q", format, l.Format(), f.format)
				}
				got, bad := readAll(t, l)
				if diff := cmp.Diff(f.want, got); diff != "" {
					t.Errorf("with the format %s the entries differ (-want +got):\n%s", format, diff)
				}
				if len(bad) != f.bad {
					t.Errorf("with the format %s %d lines are bad, want %d: %v", format, len(bad), f.bad, bad)
				}
			}
		})
	}
}

// readAll reads a log to its end.
func readAll(t *testing.T, l *accesslog.Reader) (all []accesslog.Entry, bad []*accesslog.BadLine) {
	t.Helper()
	for {
		e, err := l.Next()
		var line *accesslog.BadLine
		switch {
		case err == nil:
			all = append(all, e)
		case errors.As(err, &line):
			bad = append(bad, line)
		case errors.Is(err, io.EOF):
			return all, bad
		default:
			t.Fatal(err)
		}
	}
}

func TestTells(t *testing.T) {
	for _, f := range []struct{ file, format, field string }{
		{"nginx.log", nginxFormat, "X-User"}, {"caddy.jsonl", "", "X-User"}, {"traefik.jsonl", "", "x-user"},
		{"combined.log", "", "User-Agent"}, {"combined.log", "", "Referer"}, {"vhost.log", "", "Host"},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", f.file))
		if err != nil {
			t.Fatal(err)
		}
		l, err := accesslog.Open(strings.NewReader(string(text)), accesslog.Options{Format: f.format})
		if err != nil {
			t.Fatal(err)
		}
		if !l.TellsField(f.field) {
			t.Errorf("%s: TellsField(%q) = false, want true", f.file, f.field)
		}
		if l.TellsField("X-Other") {
			t.Errorf("%s: TellsField(X-Other) = true, want false", f.file)
		}
		l.Close()
	}
}
