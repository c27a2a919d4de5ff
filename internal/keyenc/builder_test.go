package keyenc

import (
	"bytes"
	"testing"
)

// TestPooledBuildersHoldNothingOfARequest: what is secret enough to be hashed does not stay in memory.
func TestPooledBuildersHoldNothingOfARequest(t *testing.T) {
	for _, scheme := range []struct {
		name   string
		secret []byte
	}{{"SHA-256", nil}, {"HMAC", []byte("0123456789abcdef")}} {
		t.Run(scheme.name, func(t *testing.T) {
			pool := NewPool(scheme.secret)
			b := pool.Get()
			b.Text("a token", false)
			b.Key(true)
			items, message := b.items, b.message
			if !bytes.Contains(message, []byte("a token")) {
				t.Fatalf("the message is %q, want the token in it", message)
			}
			pool.Release(b)
			if items[0] != (item{}) || len(b.items) != 0 {
				t.Errorf("items: got %+v and %d of them, want a cleared one and none", items[0], len(b.items))
			}
			if want := make([]byte, len(message)); !bytes.Equal(message, want) {
				t.Errorf("message: got %q, want zeros", message)
			}
		})
	}
}

func TestLongMessagesAreNotPooled(t *testing.T) {
	for size, kept := range map[int]bool{100: true, maxPooled: true, maxPooled + 1: false} {
		pool := NewPool(nil)
		b := pool.Get()
		b.message = make([]byte, size)
		pool.Release(b)
		if got := cap(b.message) > 0; got != kept {
			t.Errorf("a buffer of %d bytes: kept %v, want %v", size, got, kept)
		}
	}
}
