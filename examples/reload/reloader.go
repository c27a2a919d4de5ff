package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/policy"
)

// reloader keeps a Middleware at what a file says.
type reloader struct {
	middleware *httplimit.Middleware
	file       string
	seen       []byte // what was in it when it was last read, faulty or not
}

// newReloader returns one with the policy of the file in force.
func newReloader(file string) (*reloader, error) {
	r := &reloader{file: file}
	cfg, err := r.read()
	if err == nil {
		r.middleware, err = httplimit.New(cfg)
	}
	return r, err
}

// run reads the file on each signal, and after each tick if it is another one than before, until ctx ends. To look at
// the bytes is as good as any notification of the system for a file that small, and also sees a file that is mounted,
// or replaced by way of a symbolic link.
func (r *reloader) run(ctx context.Context, signals <-chan os.Signal, ticks <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			r.reload()
		case <-ticks:
			if text, err := os.ReadFile(r.file); err == nil && !bytes.Equal(text, r.seen) {
				r.reload()
			}
		}
	}
}

// reload puts what the file says in force, or says in the log why it does not.
func (r *reloader) reload() {
	cfg, err := r.read()
	if err == nil {
		err = r.middleware.Reconfigure(cfg)
	}
	if err != nil {
		log.Printf("reload: the old policy stays in force:\n%v", err)
		return
	}
	log.Printf("reload: the new policy is in force, with %d rules", len(cfg.Rules))
}

// read reads the file. The error has a line for each fault, with its place as editors read it.
func (r *reloader) read() (httplimit.Config, error) {
	text, err := os.ReadFile(r.file)
	if err != nil {
		return httplimit.Config{}, err
	}
	r.seen = text
	p, err := policy.Parse(text)
	if err != nil {
		return httplimit.Config{}, r.faults(err)
	}
	cfg, err := p.Config(names())
	if err != nil {
		return httplimit.Config{}, r.faults(err)
	}
	return cfg, nil // several processes share a cfg.Store: set it here
}

func (r *reloader) faults(err error) error {
	var lines []string
	for _, fault := range policy.Faults(err) {
		lines = append(lines, r.file+":"+fault.Text())
	}
	return fmt.Errorf("%s", strings.Join(lines, "\n"))
}
