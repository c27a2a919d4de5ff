package keyenc

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"
)

// TestMessageVectors: what is hashed for lists of identities. The keys themselves are checked where they are made.
func TestMessageVectors(t *testing.T) {
	raw, err := os.ReadFile("../../testdata/keys.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Cases []struct {
			ID          string            `json:"id"`
			EncodingHex string            `json:"encoding_hex"`
			Parts       []json.RawMessage `json:"parts"`
		}
	}
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, v := range vectors.Cases {
		if v.EncodingHex == "" {
			continue
		}
		ran++
		t.Run(v.ID, func(t *testing.T) {
			b := NewPool(nil).Get()
			for _, part := range v.Parts {
				var text string
				if err := json.Unmarshal(part, &text); err != nil {
					t.Fatal(err)
				}
				b.Text(text, true)
			}
			if got := hex.EncodeToString(appendMessage(nil, b.items)); got != v.EncodingHex {
				t.Errorf("the parts %s are hashed as %s, want %s", v.Parts, got, v.EncodingHex)
			}
		})
	}
	if ran == 0 {
		t.Error("no case in the file has the message")
	}
}
