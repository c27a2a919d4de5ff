// Package keyenc writes the identities found in a request as the key of a counter: a text that is injective, bounded
// in length, and printable.
//
//   - The plain form is the identities as they are, each byte outside a small alphabet as %XX, and those of several
//     parts joined by ':'. It is taken where it has at most 128 bytes.
//   - The hash form is '#' and 128 bits of SHA-256 in base64url, or of HMAC-SHA-256 under a secret. It stands for keys
//     that are longer or secret, and for all keys if there is a secret.
//   - Marks separate kinds of key: which of several alternatives was found, what was found in place of a missing
//     identity, that an identity is ambiguous, and that a request is a CORS preflight. They begin with '%' and a letter
//     beyond F, which no escaped byte does.
//
// Two lists of identities and marks never have the same key, except for a collision of hashes.
package keyenc
