package httplimit

import (
	"fmt"
	"sync"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// windows are the pairs of Algorithm and Window that one configuration counts in. There is a bound to them, because there
// is one in the store that counts in this process. Safe for concurrent use.
type windows struct {
	mu    sync.RWMutex
	pairs map[window]bool
}

type window struct {
	algorithm limiter.Algorithm
	length    time.Duration
}

// admit takes in the window of l. The error says that there are too many.
func (w *windows) admit(l limiter.Limit) error {
	pair := window{l.Algorithm, l.Window}
	w.mu.RLock()
	known := w.pairs[pair]
	w.mu.RUnlock()
	if known {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pairs) >= memstore.MaxWindows && !w.pairs[pair] {
		return fmt.Errorf("it would be one of more than %d different windows, want fewer", memstore.MaxWindows)
	}
	if w.pairs == nil {
		w.pairs = make(map[window]bool)
	}
	w.pairs[pair] = true
	return nil
}
