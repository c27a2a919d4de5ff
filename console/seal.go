package console

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"
)

// sealer makes what was looked up an opaque text that a form can carry: so no page has a credential in it, and nobody
// can write another one. It ends with the process.
type sealer struct{ aead cipher.AEAD }

// sealed is one client, found by the parts of its key.
type sealed struct {
	Shape string    `json:"s"`
	Parts []string  `json:"p"`
	Until time.Time `json:"u"`
}

// sealedFor is how long a page may stand open before a client has to be looked up again.
const sealedFor = 12 * time.Hour

func newSealer() (*sealer, error) {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &sealer{aead}, err
}

func (s *sealer) seal(shape string, parts []string) string {
	text, _ := json.Marshal(sealed{shape, parts, time.Now().Add(sealedFor)}) // strings and a time always have a JSON
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, text, nil))
}

var errStale = errors.New("this page is from before the service was restarted, or half a day old: " +
	"look the client up again")

func (s *sealer) open(token string) (shape string, parts []string, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return "", nil, errStale
	}
	text, err := s.aead.Open(nil, nil, raw, nil)
	var in sealed
	if err != nil || json.Unmarshal(text, &in) != nil || time.Now().After(in.Until) {
		return "", nil, errStale
	}
	return in.Shape, in.Parts, nil
}
