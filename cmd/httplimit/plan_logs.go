package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/accesslog"
	"github.com/httplimit/httplimit/cmd/httplimit/internal/replay"
)

// logs are the files of a command line.
type logs struct {
	all     []*logFile
	options *planOptions
}

// logFile is one of them. Its lines are read by a goroutine of its own, which ends with the file or by close. What it
// counts is known when the last batch has come.
type logFile struct {
	name    string
	size    int64 // 0: not known
	raw     *countedReader
	file    *os.File // nil: standard input
	reader  *accesslog.Reader
	batches chan []accesslog.Entry
	stop    chan struct{}
	started bool
	batch   []accesslog.Entry

	lines, bad, outside int64
	firstBad            string
	failed              error
}

// countedReader counts what is read, for the progress.
type countedReader struct {
	io.Reader
	n atomic.Int64
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// openLogs opens all files and finds out their formats, before any is read: what is wrong with them is told at once.
func openLogs(o *planOptions, stdin io.Reader) (*logs, error) {
	l := &logs{options: o}
	var errs []error
	for i, name := range o.files {
		f, err := openLog(o, name, o.fileName(i), stdin)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", o.fileName(i), err))
			continue
		}
		l.all = append(l.all, f)
	}
	if len(errs) > 0 {
		l.close()
		return nil, errors.Join(errs...)
	}
	return l, nil
}

// fileName returns how a file is called in reports and errors.
func (o *planOptions) fileName(i int) string {
	switch {
	case o.files[i] == "-":
		return "standard input"
	case o.anonymize:
		return fmt.Sprintf("file %d", i+1)
	}
	return o.files[i]
}

func openLog(o *planOptions, name, shown string, stdin io.Reader) (*logFile, error) {
	f := &logFile{name: shown, batches: make(chan []accesslog.Entry, 2), stop: make(chan struct{})}
	f.raw = &countedReader{Reader: stdin}
	if name == "-" && isTerminal(stdin) {
		return nil, errors.New("it is a terminal: pipe a log into it, or name a file")
	}
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("it cannot be read: %w", reason(err))
		}
		if info, err := file.Stat(); err == nil {
			if info.IsDir() {
				file.Close()
				return nil, errors.New("it is a folder: name the files in it")
			}
			f.size = info.Size()
		}
		f.file, f.raw.Reader = file, file
	}
	reader, err := accesslog.Open(f.raw, accesslog.Options{Format: o.format, Map: o.mapping, MaxBytes: o.maxBytes})
	if err != nil {
		if f.file != nil {
			f.file.Close()
		}
		return nil, err
	}
	f.reader = reader
	return f, nil
}

// batchSize is how many entries are handed over at once. The first batch is one entry: it tells where the log begins.
const batchSize = 512

// read reads the log to its end.
func (f *logFile) read(o *planOptions) {
	defer close(f.batches)
	size := 1
	batch := make([]accesslog.Entry, 0, size)
	for {
		e, err := f.reader.Next()
		var bad *accesslog.BadLine
		switch {
		case err == nil:
			f.lines++
			if !o.from.IsZero() && e.At < o.from.UnixMilli() || !o.to.IsZero() && e.At >= o.to.UnixMilli() {
				f.outside++
				continue
			}
			batch = append(batch, e)
		case errors.As(err, &bad):
			f.noteBad(bad, o)
			continue
		default:
			if !errors.Is(err, io.EOF) {
				f.failed = err
			}
			f.send(batch)
			return
		}
		if len(batch) == size {
			if !f.send(batch) {
				return
			}
			size = batchSize
			batch = make([]accesslog.Entry, 0, size)
		}
	}
}

func (f *logFile) send(batch []accesslog.Entry) bool {
	select {
	case f.batches <- batch:
		return true
	case <-f.stop:
		return false
	}
}

func (f *logFile) noteBad(bad *accesslog.BadLine, o *planOptions) {
	f.lines++
	f.bad++
	if f.firstBad != "" {
		return
	}
	f.firstBad = fmt.Sprintf("%s, line %d: %s", f.name, bad.Number, bad.Err)
	if !o.anonymize {
		f.firstBad += fmt.Sprintf(": %.120q", bad.Text)
	}
}

// Next implements [replay.Source].
func (f *logFile) Next() *accesslog.Entry {
	for len(f.batch) == 0 {
		batch, ok := <-f.batches
		if !ok {
			return nil
		}
		f.batch = batch
	}
	e := &f.batch[0]
	f.batch = f.batch[1:]
	return e
}

// sources begins to read.
func (l *logs) sources() []replay.Source {
	all := make([]replay.Source, len(l.all))
	for i, f := range l.all {
		f.started = true
		go f.read(l.options)
		all[i] = f
	}
	return all
}

// close stops reading.
func (l *logs) close() {
	for _, f := range l.all {
		close(f.stop)
		if f.started {
			for range f.batches { // until the goroutine has ended
			}
		}
		f.reader.Close()
		if f.file != nil {
			f.file.Close()
		}
	}
}

// err returns what kept a log from being read to its end. The figures would be of a part of it then.
func (l *logs) err() error {
	var errs []error
	for _, f := range l.all {
		switch {
		case errors.Is(f.failed, accesslog.ErrTooLong):
			errs = append(errs, fmt.Errorf("%s: it unpacks to more than %d bytes; raise -max-bytes if it is no trap", f.name,
				l.options.maxBytes))
		case f.failed != nil:
			errs = append(errs, fmt.Errorf("%s: it cannot be read to its end, which lies behind %d lines: %w", f.name, f.lines,
				reason(f.failed)))
		}
	}
	return errors.Join(errs...)
}

// reading tells what was read.
func (l *logs) reading() (in replay.Reading) {
	var formats []string
	for _, f := range l.all {
		in.Files = append(in.Files, f.name)
		in.Lines += f.lines
		in.Bad += f.bad
		in.Outside += f.outside
		if in.FirstBad == "" {
			in.FirstBad = f.firstBad
		}
		if !slices.Contains(formats, f.reader.Format()) {
			formats = append(formats, f.reader.Format())
		}
	}
	in.Format = strings.Join(formats, ", ")
	return in
}

// tells returns what all logs tell.
func (l *logs) tells() accesslog.Tells {
	t := accesslog.Tells{Method: true, Path: true, Host: true, Status: true, Agent: true, User: true, Forwarded: true}
	for _, f := range l.all {
		one := f.reader.Tells()
		t = accesslog.Tells{Method: t.Method && one.Method, Path: t.Path && one.Path, Host: t.Host && one.Host,
			Status: t.Status && one.Status, Agent: t.Agent && one.Agent, User: t.User && one.User,
			Forwarded: t.Forwarded && one.Forwarded}
	}
	return t
}

func (l *logs) tellsField(name string) bool {
	return !slices.ContainsFunc(l.all, func(f *logFile) bool { return !f.reader.TellsField(name) })
}

func (l *logs) tellsCookie(name string) bool {
	return !slices.ContainsFunc(l.all, func(f *logFile) bool { return !f.reader.TellsCookie(name) })
}

// hide takes what -anonymize hides off an error's text.
func (o *planOptions) hide(text string) string {
	if !o.anonymize {
		return text
	}
	return replay.HideAddresses(text)
}
