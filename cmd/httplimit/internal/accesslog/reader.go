package accesslog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// MaxLine is how long a line may be, in bytes. A longer one is a [BadLine].
const MaxLine = 1 << 20

// Options say how to read a log. The zero Options find out by themselves.
type Options struct {
	Format   string // as [CheckFormat] takes it; "" means auto
	Map      string // which names a log has, for ltsv, csv and jsonl: "time=ts,client=ip"
	MaxBytes int64  // the most that is unpacked; 0: without end
}

// Reader reads one log. It is used by one goroutine.
type Reader struct {
	lines  *bufio.Reader
	close  func()
	parser parser
	format string
	told   map[string]bool // fields of the request's header that the format or the first lines tell, in lower case
	tells  Tells
	number int64 // of the line read last
	long   []byte
}

// BadLine is a line that cannot be read as its log's format. The next one can be read all the same.
type BadLine struct {
	Number int64  // of the line, from 1
	Text   string // its beginning
	Err    error  // why
}

func (b *BadLine) Error() string { return fmt.Sprintf("line %d: %s", b.Number, b.Err) }
func (b *BadLine) Unwrap() error { return b.Err }

// ErrEmpty says that a log has no line; ErrBinary, that it holds no text.
var (
	ErrEmpty  = errors.New("it is empty")
	ErrBinary = errors.New("it holds no text but binary data")
)

// Open begins to read a log, which may be packed by gzip or zstd. It reads its beginning to find out the format. Close
// the Reader; that does not close r.
func Open(r io.Reader, o Options) (*Reader, error) {
	text, closer, err := unpack(r)
	if err != nil {
		return nil, err
	}
	if o.MaxBytes > 0 {
		text = &bounded{r: text, left: o.MaxBytes}
	}
	l := &Reader{lines: bufio.NewReaderSize(text, sampleSize), close: closer, told: map[string]bool{}}
	if err := l.begin(o); err != nil {
		closer()
		return nil, err
	}
	return l, nil
}

// begin looks at the beginning of the log.
func (l *Reader) begin(o Options) error {
	head, err := l.lines.Peek(sampleSize)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, ErrTooLong) {
		return fmt.Errorf("it cannot be read: %w", err)
	}
	if bom := []byte("\xef\xbb\xbf"); bytes.HasPrefix(head, bom) {
		_, _ = l.lines.Discard(len(bom))
		head = head[len(bom):]
	}
	sample := sampleLines(head, err != nil)
	switch {
	case len(bytes.TrimSpace(head)) == 0:
		return ErrEmpty
	case isBinary(head):
		return ErrBinary
	}
	n, err := parseMap(o.Map)
	if err != nil {
		return fmt.Errorf("map: %w", err)
	}
	l.format = o.Format
	if o.Format == "" || o.Format == "auto" {
		if l.format, err = detect(sample, n); err != nil {
			if isArray(head) {
				return errors.New("it is one JSON array or object over several lines; make one object a line of it: jq -c '.[]'")
			}
			return err
		}
	}
	if l.parser, err = newParser(l.format, n); err != nil {
		return err
	}
	return l.learn(sample)
}

// learn notes what the log tells: a log_format names its fields, the lines of other formats show theirs. Its error says
// what none of the lines can tell.
func (l *Reader) learn(sample []string) error {
	f, named := l.parser.(*nginx)
	if named {
		for _, name := range f.fields() {
			l.told[strings.ToLower(name)] = true
		}
	}
	p, _ := newParser(l.format, l.names())
	for _, line := range sample {
		var e Entry
		if err := parseLine(p, line, &e); err != nil {
			if other, ok := err.(*wrongFormat); ok {
				return other.error
			}
			continue
		}
		l.tells = l.tells.with(&e)
		for i := 0; i < len(e.Header) && !named; i++ {
			l.told[strings.ToLower(e.Header[i].Name)] = true
		}
	}
	return nil
}

func (l *Reader) names() names {
	switch p := l.parser.(type) {
	case ltsv:
		return p.names
	case jsonLines:
		return p.names
	case *commas:
		return p.names
	}
	return names{}
}

// Format returns the name of the log's format, as Options.Format takes it.
func (l *Reader) Format() string { return l.format }

// Tells is what a log tells of its requests, as far as its first lines show.
type Tells struct{ Method, Path, Host, Status, Agent, User, Forwarded bool }

func (t Tells) with(e *Entry) Tells {
	return Tells{t.Method || e.Method != "", t.Path || e.Target != "", t.Host || e.Host != "", t.Status || e.Status != 0,
		t.Agent || e.Agent != "", t.User || e.User != "", t.Forwarded || e.Forwarded != ""}
}

// Tells returns what the log's first lines tell.
func (l *Reader) Tells() Tells { return l.tells }

// TellsField reports whether the log tells a field of the requests' header: because its format has it, or its first
// lines do.
func (l *Reader) TellsField(name string) bool {
	switch name = strings.ToLower(name); name {
	case "user-agent":
		return l.tells.Agent
	case "x-forwarded-for":
		return l.tells.Forwarded
	case "host":
		return l.tells.Host
	}
	return l.told[name]
}

// TellsCookie reports whether the log tells a cookie: all of them, or this one.
func (l *Reader) TellsCookie(name string) bool {
	return l.told["cookie"] || l.told["cookie "+strings.ToLower(name)]
}

// Next returns what the next line tells. A line that cannot be read is an error of type [*BadLine], after which Next
// can be called again. After the last line it returns io.EOF. Any other error ends the log. Empty lines, and the names
// of columns, are passed over.
func (l *Reader) Next() (Entry, error) {
	for {
		line, err := l.line()
		if err != nil {
			return Entry{}, err
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		var e Entry
		switch err := parseLine(l.parser, line, &e); err {
		case nil:
			return e, nil
		case errHeader:
			continue
		default:
			return Entry{}, &BadLine{Number: l.number, Text: line[:min(len(line), 200)], Err: err}
		}
	}
}

var errLong = fmt.Errorf("it is longer than %d bytes", MaxLine)

// line returns the next line without its end.
func (l *Reader) line() (string, error) {
	l.number++
	part, err := l.lines.ReadSlice('\n')
	if err == nil || errors.Is(err, io.EOF) && len(part) > 0 {
		return string(bytes.TrimRight(part, "\r\n")), nil
	}
	if !errors.Is(err, bufio.ErrBufferFull) {
		return "", err
	}
	l.long = append(l.long[:0], part...)
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = l.lines.ReadSlice('\n')
		if len(l.long) <= MaxLine {
			l.long = append(l.long, part...)
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if len(l.long) > MaxLine {
		return "", &BadLine{Number: l.number, Text: string(l.long[:200]), Err: errLong}
	}
	return string(bytes.TrimRight(l.long, "\r\n")), nil
}

// Close frees what the Reader needs for unpacking.
func (l *Reader) Close() { l.close() }
