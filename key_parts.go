package httplimit

// KeyPart is one of the identities that a Key looks for: what to ask somebody for who looks a client up.
type KeyPart struct {
	Name   string `json:"name"`   // what it is, such as "address" or "header X-User"
	Secret bool   `json:"secret"` // a credential: it is hashed wherever it goes, and not to be shown
}

// KeyParts returns what [Middleware.Allow], [Middleware.Peek] and [Middleware.Reset] want as parts for a rule with that
// Key, in order: for [FirstOf] those of its first key, for [Everyone] none.
func KeyParts(k Key) []KeyPart { return appendParts(nil, k, false) }

func appendParts(parts []KeyPart, k Key, hidden bool) []KeyPart {
	switch k := k.(type) {
	case nil, everyone:
		return parts
	case secret:
		return appendParts(parts, k.of, true)
	case composed:
		for _, one := range k {
			parts = appendParts(parts, one, hidden)
		}
		return parts
	case firstOf:
		if len(k) == 0 {
			return parts
		}
		return appendParts(parts, k[0], hidden)
	}
	return append(parts, KeyPart{Name: partName(k), Secret: hidden})
}

func partName(k Key) string {
	switch k := k.(type) {
	case clientIP:
		return "address"
	case route, routeOf, routeFrom:
		return "route"
	case bearerToken:
		return "bearer token"
	case basicUser:
		return "user name"
	case headerKey:
		return "header " + k.name
	case cookie:
		return "cookie " + k.name
	case clientCert:
		return "public key of the certificate"
	case contextValue:
		return "value in the context"
	}
	return "value"
}
