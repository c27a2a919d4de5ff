package httplimit

import (
	"bytes"
	"testing"
)

// TestPooledDraftsHoldNothingOfARequest: what is secret enough to be hashed does not stay in memory.
func TestPooledDraftsHoldNothingOfARequest(t *testing.T) {
	for _, scheme := range []struct {
		name   string
		secret []byte
	}{{"SHA-256", nil}, {"HMAC", []byte(keySecret)}} {
		t.Run(scheme.name, func(t *testing.T) {
			pool := newDraftPool(scheme.secret)
			d := pool.take()
			d.items = append(d.items, keyItem{found: identity{text: "a token"}})
			d.hash()
			items, message := d.items, d.message
			if !bytes.Contains(message, []byte("a token")) {
				t.Fatalf("the message is %q, want the token in it", message)
			}
			pool.give(d)
			if items[0] != (keyItem{}) || len(d.items) != 0 {
				t.Errorf("items: got %+v and %d of them, want a cleared one and none", items[0], len(d.items))
			}
			if want := make([]byte, len(message)); !bytes.Equal(message, want) {
				t.Errorf("message: got %q, want zeros", message)
			}
		})
	}
}

func TestLongMessagesAreNotPooled(t *testing.T) {
	for size, kept := range map[int]bool{100: true, maxPooled: true, maxPooled + 1: false} {
		pool := newDraftPool(nil)
		d := pool.take()
		d.message = make([]byte, size)
		pool.give(d)
		if got := cap(d.message) > 0; got != kept {
			t.Errorf("a buffer of %d bytes: kept %v, want %v", size, got, kept)
		}
	}
}
