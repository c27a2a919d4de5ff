package httplimit

import (
	"net/netip"
	"reflect"
	"runtime"
	"strings"
)

// Every Key of this package has a String: the text from which package policy makes an equal key, such as "ip" or
// "apikey:X-API-Key | ip". A key that has no such text is "name:" and where it comes from. The text never holds an
// identity.

func (everyone) String() string    { return "everyone" }
func (basicUser) String() string   { return "basic" }
func (clientCert) String() string  { return "cert" }
func (route) String() string       { return "route" }
func (k headerKey) String() string { return "header:" + k.name }

// Those that only stand inside of a Secret.
func (bearerToken) String() string { return nameText("BearerToken") }
func (cookie) String() string      { return nameText("Cookie") }

func (routeOf) String() string     { return nameText("RouteOf") }
func (k routeFrom) String() string { return nameText(funcName(k)) }
func (k KeyFunc) String() string   { return nameText(funcName(k)) }
func (k contextValue) String() string {
	if k.key == nil {
		return nameText("ContextValue")
	}
	return nameText("ContextValue." + reflect.TypeOf(k.key).String())
}

func (k secret) String() string {
	switch of := k.of.(type) {
	case bearerToken:
		return "bearer"
	case headerKey:
		return "apikey:" + of.name
	case cookie:
		return "cookie:" + of.name
	case secret:
		return of.String()
	}
	return nameText("Secret")
}

// String returns "ip" where TrustedProxies is all that there is to know of the key.
func (k clientIP) String() string {
	if len(k.faults) > 0 || !k.resolver.ByNetworks() {
		return nameText("ClientIPFrom")
	}
	return "ip"
}

// TrustedProxies returns the networks of a key whose text is "ip". Package policy asks.
func (k clientIP) TrustedProxies() []netip.Prefix {
	if len(k.faults) > 0 {
		return nil
	}
	return k.resolver.Proxies()
}

func (k composed) String() string { return joinKeys("Compose", k, " + ") }
func (k firstOf) String() string  { return joinKeys("FirstOf", k, " | ") }

// Keys returns those that are combined. Package policy asks.
func (k composed) Keys() []Key { return k }

// Keys is as that of composed.
func (k firstOf) Keys() []Key { return k }

// joinKeys returns the texts of several keys, joined. There are no parentheses: alternatives have parts, parts have
// nothing.
func joinKeys(name string, keys []Key, separator string) string {
	texts := make([]string, len(keys))
	for i, key := range keys {
		text, _ := key.(interface{ String() string })
		_, alternatives := key.(firstOf)
		if _, parts := key.(composed); text == nil || alternatives || parts && separator == " + " {
			return nameText(name)
		}
		texts[i] = text.String()
	}
	if len(texts) < 2 {
		return nameText(name) // of one key alone they make another one: its parts are escaped, or marked
	}
	return strings.Join(texts, separator)
}

// nameText returns the text of what comes from a place in Go, with nothing but what a name in a policy may have.
func nameText(place string) string {
	place = place[strings.LastIndexByte(place, '/')+1:]
	return "name:" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return -1
	}, place)
}

// funcName returns the name of a function, such as "main.userOf"; "nil" if it is.
func funcName(f any) string {
	v := reflect.ValueOf(f)
	if v.IsNil() {
		return "nil"
	}
	return strings.TrimSuffix(runtime.FuncForPC(v.Pointer()).Name(), "-fm")
}
