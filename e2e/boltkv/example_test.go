package boltkv_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"github.com/httplimit/httplimit/e2e/boltkv"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
)

// Ten mails a day, also if the program is started again in between.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	for _, run := range []string{"first run", "second run"} {
		d, err := send(filepath.Join(dir, "limits.db"), "alice@example.com")
		fmt.Println(run, d.Allowed, d.Remaining, err)
	}
	// Output:
	// first run true 9 <nil>
	// second run true 8 <nil>
}

func send(file, address string) (limiter.Decision, error) {
	// The Timeout is for another process that has the file open.
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{Timeout: time.Second})
	if err != nil {
		return limiter.Decision{}, err
	}
	defer db.Close()
	kv, err := boltkv.New(db, nil)
	if err != nil {
		return limiter.Decision{}, err
	}
	store, err := kvstore.New(kv, kvstore.Config{Timeout: time.Second}) // disks take longer than networks
	if err != nil {
		return limiter.Decision{}, err
	}
	mails, err := limiter.New(store, "mail", limiter.PerDay(10))
	if err != nil {
		return limiter.Decision{}, err
	}
	return mails.Allow(context.Background(), address)
}
