package httplimit

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"

	"github.com/httplimit/httplimit/internal/keyenc"
)

// rollout says for which clients a rule with a Percent is in force. The zero value is for rules without one.
type rollout struct {
	prefix []byte // of what is hashed: namespace and name of the rule
	below  uint64 // in force for hashes below it; 0: for everybody
}

// newRollout returns the rollout of a percentage from 1 to 99.
func newRollout(percent int, namespace, name string) rollout {
	below, _ := bits.Div64(uint64(percent), 0, 100) // percent of 2^64, so that who is below stays below when it grows
	return rollout{prefix: appendSized(appendSized(nil, namespace), name), below: below}
}

// holds reports whether the rule is in force for a key of the store. It depends on nothing else, so that every process
// says the same.
func (o *rollout) holds(key string) bool {
	var buf [maxNamespace + maxName + keyenc.MaxLen + 3*sizeBytes]byte
	sum := sha256.Sum256(appendSized(append(buf[:0], o.prefix...), key))
	return binary.BigEndian.Uint64(sum[:]) < o.below
}

// appendSized appends s behind its length, so that no two lists of strings are hashed as the same bytes. Namespaces,
// names and keys are shorter than 2^16 bytes.
func appendSized(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}

const sizeBytes = 2
