package accesslog_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/accesslog"
)

func gzipped(text []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(text)
	_ = w.Close()
	return b.Bytes()
}

func zstandard(text []byte) []byte {
	w, _ := zstd.NewWriter(nil)
	return w.EncodeAll(text, nil)
}

func fixtureText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPacked(t *testing.T) {
	text := []byte(fixtureText(t, "combined.log"))
	for name, packed := range map[string][]byte{
		"gzip": gzipped(text), "zstd": zstandard(text),
		"two gzip members": append(gzipped(text[:300]), gzipped(text[300:])...),
		"CRLF":             bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")),
		"byte order mark":  append([]byte("\xef\xbb\xbf"), text...),
		"no last newline":  bytes.TrimRight(text, "\n"),
	} {
		l, err := accesslog.Open(bytes.NewReader(packed), accesslog.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if all, bad := readAll(t, l); len(all) != 7 || len(bad) != 4 {
			t.Errorf("%s: %d entries and %d bad lines, want 7 and 4", name, len(all), len(bad))
		}
		l.Close()
	}
}

func TestOpenSaysWhatToDo(t *testing.T) {
	log := fixtureText(t, "combined.log")
	for name, c := range map[string]struct {
		text, format, mapping string
		is                    error
		want                  string
	}{
		"empty":         {text: "", is: accesslog.ErrEmpty},
		"only newlines": {text: "\n\n\n", is: accesslog.ErrEmpty},
		"binary":        {text: "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00", is: accesslog.ErrBinary},
		"prose":         {text: "This is a letter.\nIt is no log.\n", is: accesslog.ErrFormat, want: "say it with -format"},
		"an array":      {text: "[\n{\"httpRequest\": {}}\n]\n", want: "jq -c"},
		"xz":            {text: "\xfd7zXZ\x00\x00\x04", want: "unpack it"},
		"broken gzip":   {text: "\x1f\x8b\x00nothing", want: "cannot be unpacked"},
		"format":        {text: log, format: "iis", want: `there is no "iis"`},
		"log_format": {text: log, format: "nginx:$remote_addr$time_local",
			want: "nothing stands between $remote_addr and $time_local"},
		"columns": {text: "when;who\n1;2\n", format: "csv",
			want: "none of them is the time; name it with -map 'time=COLUMN'"},
		"one column": {text: "when,who\n1,2\n", format: "csv", mapping: "time=when",
			want: "none of them is the client; name it with -map 'client=COLUMN'"},
		"no time":        {text: log, format: "nginx:$remote_addr", want: "it has no time"},
		"no client":      {text: log, format: "nginx:$time_local", want: "it has no client"},
		"map":            {text: "{}", format: "jsonl", mapping: "when=ts", want: `"when=ts" is no pair`},
		"map twice":      {text: "{}", format: "jsonl", mapping: "time=a,time=b", want: "time is there twice"},
		"map left empty": {text: "{}", format: "jsonl", mapping: "time", want: "is no pair"},
	} {
		l, err := accesslog.Open(strings.NewReader(c.text), accesslog.Options{Format: c.format, Map: c.mapping})
		if err == nil {
			l.Close()
		}
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Open says %v, want %v and %q", name, err, c.is, c.want)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Run("line", func(t *testing.T) {
		first := "192.0.2.1 - - [03/Mar/2025:09:15:00 +0000] \"GET / HTTP/1.1\" 200 1\n"
		text := first + strings.Repeat("x", 3*accesslog.MaxLine) + "\n" + first
		l, err := accesslog.Open(strings.NewReader(text), accesslog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		all, bad := readAll(t, l)
		if len(all) != 2 || len(bad) != 1 || bad[0].Number != 2 || len(bad[0].Text) > 200 {
			t.Errorf("%d entries and the bad lines %v, want 2 entries, and line 2 bad", len(all), bad)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		line := "192.0.2.1 - - [03/Mar/2025:09:15:00 +0000] \"GET / HTTP/1.1\" 200 1\n"
		bomb := gzipped(bytes.Repeat([]byte(line), 100_000))
		for _, most := range []int64{int64(len(line)) * 1000, int64(len(line)) * 100_000} {
			l, err := accesslog.Open(bytes.NewReader(bomb), accesslog.Options{MaxBytes: most})
			if err != nil {
				t.Fatal(err)
			}
			n := int64(0)
			for err = nil; err == nil; n++ {
				_, err = l.Next()
			}
			want := accesslog.ErrTooLong
			if most == int64(len(line))*100_000 {
				want = io.EOF
			}
			if !errors.Is(err, want) || n-1 > most/int64(len(line)) {
				t.Errorf("with MaxBytes %d reading ends after %d lines with %v, want %v", most, n-1, err, want)
			}
			l.Close()
		}
	})
}

// What clients write into X-Forwarded-For stands in the place of the address in some logs. To read the longest line
// takes no longer than to read as much of any other: a copy for each comma of it would take minutes.
func TestLongChain(t *testing.T) {
	chain := strings.Repeat("a, ", accesslog.MaxLine/3-40)
	l, err := accesslog.Open(strings.NewReader(strings.Repeat(
		chain+"192.0.2.1 - bob [03/Mar/2025:09:15:00 +0000] \"GET / HTTP/1.1\" 200 1\n", 3)),
		accesslog.Options{Format: "common"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	all, bad := readAll(t, l)
	if len(all) != 3 || len(bad) != 0 || all[0].Client != "192.0.2.1" || all[0].User != "bob" ||
		all[0].Forwarded != strings.TrimSuffix(chain, ", ") {
		t.Errorf("%d entries and %d bad lines, want 3 of 192.0.2.1", len(all), len(bad))
	}
}

func TestMapRenames(t *testing.T) {
	text := `{"when":"2025-03-03T09:15:00Z","ip":"10.0.0.1","real":"192.0.2.1"}` + "\n"
	l, err := accesslog.Open(strings.NewReader(text), accesslog.Options{Map: "time=when,client=real"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if all, _ := readAll(t, l); len(all) != 1 || all[0].Client != "192.0.2.1" {
		t.Errorf("the entries are %+v, want one of the client 192.0.2.1", all)
	}
}
