package httplimit

import (
	"net/http"
	"net/netip"
	"slices"
	"testing"
)

type embedsNothing struct{ Key }

type uncomparable []string

func TestKeyFaults(t *testing.T) {
	prefix := netip.MustParsePrefix
	behind := func(cfg ClientIPConfig) Key {
		cfg.Header, cfg.TrustedProxies = "X-Forwarded-For", []netip.Prefix{prefix("10.0.0.0/8")}
		return ClientIPFrom(cfg)
	}
	for _, test := range []struct {
		name   string
		key    Key
		fields []string
	}{
		{"nil", nil, []string{"Key"}},
		{"a nil KeyFunc", KeyFunc(nil), []string{"Key"}},
		{"a nil pointer to one", (*KeyFunc)(nil), []string{"Key"}},
		{"a struct around nothing", embedsNothing{}, []string{"Key"}},
		{"a struct around a key", embedsNothing{ClientIP()}, []string{"Key"}},
		{"nil in Secret", Secret(nil), []string{"Key"}},
		{"nil in Compose", Compose(ClientIP(), nil), []string{"Key.Compose[1]"}},
		{"several at once", Compose(nil, FirstOf(nil, Secret(KeyFunc(nil)))),
			[]string{"Key.Compose[0]", "Key.Compose[1].FirstOf[0]", "Key.Compose[1].FirstOf[1]"}},
		{"an empty Compose", Compose(), []string{"Key.Compose"}},
		{"an empty FirstOf", FirstOf(), []string{"Key.FirstOf"}},
		{"a header without name", Header(""), []string{"Key"}},
		{"the Host header, which net/http takes out", Header("host"), []string{"Key"}},
		{"an API key of no header", APIKey("X API Key"), []string{"Key"}},
		{"a cookie without name", Cookie(""), []string{"Key"}},
		{"a cookie with a separator in its name", Cookie("a=b"), []string{"Key"}},
		{"a nil key of a context", ContextValue(nil), []string{"Key"}},
		{"a key that no context takes", ContextValue(uncomparable{}), []string{"Key"}},
		{"a nil mux", RouteOf(nil), []string{"Key"}},
		{"no network", ClientIP(prefix("10.0.0.0/8"), netip.Prefix{}), []string{"Key.TrustedProxies[1]"}},
		{"everybody as proxies", ClientIP(prefix("0.0.0.0/0"), prefix("::/0")),
			[]string{"Key.TrustedProxies[0]", "Key.TrustedProxies[1]"}},
		{"everybody in mapped form", ClientIP(prefix("::ffff:0.0.0.0/96")), []string{"Key.TrustedProxies[0]"}},
		{"more than the mapped addresses", ClientIP(prefix("::ffff:0.0.0.0/95")), []string{"Key.TrustedProxies[0]"}},
		{"trust without a header", ClientIPFrom(ClientIPConfig{TrustedHops: 1}), []string{"Key.Header"}},
		{"unix trust without a header", ClientIPFrom(ClientIPConfig{TrustUnixSocket: true}), []string{"Key.Header"}},
		{"a header that is none", ClientIPFrom(ClientIPConfig{Header: "X Real IP"}), []string{"Key.Header"}},
		{"hops in a header of one address", ClientIPFrom(ClientIPConfig{Header: "x-real-ip", TrustedHops: 1}),
			[]string{"Key.TrustedHops"}},
		{"a header of one address that nobody may write", ClientIPFrom(ClientIPConfig{Header: "X-Real-IP"}),
			[]string{"Key.TrustedProxies"}},
		{"a list that nobody may write", ClientIPFrom(ClientIPConfig{Header: "X-Forwarded-For", TrustAll: true}),
			[]string{"Key.TrustedProxies"}},
		{"a nil function of RouteFrom", RouteFrom(nil), []string{"Key"}},
		{"hops below zero", behind(ClientIPConfig{TrustedHops: -1}), []string{"Key.TrustedHops"}},
		{"bits out of range", behind(ClientIPConfig{IPv4Bits: 33, IPv6Bits: 129}), []string{"Key.IPv4Bits", "Key.IPv6Bits"}},
		{"bits below zero", behind(ClientIPConfig{IPv4Bits: -1, IPv6Bits: -1}), []string{"Key.IPv4Bits", "Key.IPv6Bits"}},
		{"NAT64 of another length", behind(ClientIPConfig{NAT64: []netip.Prefix{prefix("64:ff9b::/96"),
			prefix("64:ff9b::/64")}}), []string{"Key.NAT64[1]"}},
		{"NAT64 in IPv4", behind(ClientIPConfig{NAT64: []netip.Prefix{prefix("10.0.0.0/8"), prefix("::ffff:0:0/96"), {}}}),
			[]string{"Key.NAT64[0]", "Key.NAT64[1]", "Key.NAT64[2]"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			keys, faults := compileKey("Key", "NoKey", test.key, nil, nil, silent)
			var fields []string
			for _, fault := range faults {
				fields = append(fields, fault.Field)
				if fault.Reason == "" {
					t.Errorf("the fault of %s has no reason", fault.Field)
				}
			}
			if keys != nil || !slices.Equal(fields, test.fields) {
				t.Errorf("the faults are at %q, keys %v; want %q and none", fields, keys, test.fields)
			}
		})
	}
}

func TestFaultsOfKeyAndNoKeyTogether(t *testing.T) {
	_, faults := compileKey("Rules[1].Key", "Rules[1].NoKey", Compose(), Cookie(""), nil, silent)
	var fields []string
	for _, fault := range faults {
		fields = append(fields, fault.Field)
	}
	if want := []string{"Rules[1].Key.Compose", "Rules[1].NoKey"}; !slices.Equal(fields, want) {
		t.Errorf("the faults are at %q, want %q", fields, want)
	}
}

// What the caller does with its slices afterwards is no business of the key.
func TestKeysKeepNoSlices(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	parts := []Key{ClientIP(proxies...), Header("X-A")}
	secret := []byte(keySecret)
	key := Compose(parts...)
	clear(parts)
	clear(proxies)
	keys, faults := compileKey("Key", "NoKey", key, nil, secret, silent)
	if len(faults) > 0 {
		t.Fatal(faults[0])
	}
	clear(secret)
	got, _, _ := found(keys, request("10.0.0.2:1", [2]string{"X-Forwarded-For", "192.0.2.7"}, [2]string{"X-A", "v"}))
	want, err := compiled(t, Compose(Header("X-A"), Header("X-A")), nil, keySecret).of([]string{"192.0.2.7", "v"}, false)
	if got != want || err != nil {
		t.Errorf("the key is %q, want %q (%v)", got, want, err)
	}
}

func TestAKeyServesSeveralRules(t *testing.T) {
	key := KeyFunc(func(r *http.Request) (string, error) { return r.Method, nil })
	shared := Compose(key, ClientIP())
	first, _, _ := found(compiled(t, shared, nil, ""), lines())
	second, _, _ := found(compiled(t, Compose(shared, shared), nil, ""), lines())
	if first != "GET:192.0.2.7" || second != "GET:192.0.2.7:GET:192.0.2.7" {
		t.Errorf("the keys are %q and %q", first, second)
	}
}
