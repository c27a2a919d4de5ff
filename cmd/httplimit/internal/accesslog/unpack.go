package accesslog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// ErrTooLong says that more bytes were unpacked than Options.MaxBytes.
var ErrTooLong = errors.New("it holds more bytes than allowed")

// packed are the beginnings of files that hold something else than text, and how to read them; nil: not here.
var packed = []struct {
	magic string
	what  string
	open  func(io.Reader) (io.ReadCloser, error)
}{
	{"\x1f\x8b", "gzip", func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }},
	{"\x28\xb5\x2f\xfd", "zstd", openZstd},
	{"BZh", "bzip2", nil},
	{"\xfd7zXZ\x00", "xz", nil},
	{"PK\x03\x04", "zip", nil},
}

// zstdWindow bounds what a zstd frame may ask to keep in memory. zstd itself refuses more than this unless told.
const zstdWindow = 128 << 20

// openZstd reads with one goroutine, so that many files cost little each.
func openZstd(r io.Reader) (io.ReadCloser, error) {
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(zstdWindow))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}

// unpack returns what r holds, and how to close it. What it is shows in its first bytes: names of rotated files lie.
func unpack(r io.Reader) (io.Reader, func(), error) {
	b := bufio.NewReaderSize(r, 64<<10)
	head, err := b.Peek(8)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	for _, p := range packed {
		if !bytes.HasPrefix(head, []byte(p.magic)) {
			continue
		}
		if p.open == nil {
			return nil, nil, fmt.Errorf("it is packed with %s, which is not read here; unpack it, or pack it with gzip or zstd",
				p.what)
		}
		text, err := p.open(b)
		if err != nil {
			return nil, nil, fmt.Errorf("it begins like %s and cannot be unpacked: %w", p.what, err)
		}
		return text, func() { _ = text.Close() }, nil
	}
	return b, func() {}, nil
}

// bounded counts down what may still be read, and fails where there is more.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooLong
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, ErrTooLong
	}
	return n, err
}
