package clientip

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
)

type addressConfig struct {
	Source     string   `json:"source"`
	Header     string   `json:"header"`
	Trusted    []string `json:"trusted"`
	Hops       int      `json:"hops"`
	TrustLocal bool     `json:"trust_local"`
	IPv4Bits   int      `json:"v4_bits"`
	IPv6Bits   int      `json:"v6_bits"`
	NAT64      []string `json:"nat64"`
}

type addressAnswer struct {
	Bucket      *string `json:"bucket"`
	ConfigError bool    `json:"config_error"`
}

type addressVectors struct {
	Cases []struct {
		ID          string          `json:"id"`
		RemoteAddr  string          `json:"remote_addr"`
		Headers     [][2]string     `json:"headers"`
		Config      addressConfig   `json:"config"`
		Expect      addressAnswer   `json:"expect"`
		ExpectOneOf []addressAnswer `json:"expect_one_of"`
	} `json:"cases"`
	Groups []struct {
		ID          string        `json:"id"`
		Config      addressConfig `json:"config"`
		RemoteAddrs []string      `json:"remote_addrs"`
		Expect      string        `json:"expect"`
	} `json:"groups"`
}

// notExpressible are the cases that a Config cannot express, each with the reason.
var notExpressible = map[string]string{
	"cfg-single-forwarded": "the kind of walk follows from the header's name, " +
		"so Forwarded is never read as a single value",
	"single-no-trust": "a header that nobody is trusted to write is a fault of the Config, see TestFaults",
}

func readVectors(t *testing.T) (vectors addressVectors) {
	t.Helper()
	raw, err := os.ReadFile("testdata/client_ip.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	return vectors
}

// parsed turns the text of a configuration into a Config. What is no network is refused by netip already.
func (cfg addressConfig) parsed() (Config, error) {
	out := Config{
		Header: map[string]string{"peer": "", "xff": "X-Forwarded-For", "forwarded": "Forwarded",
			"single": cfg.Header}[cfg.Source],
		TrustedHops: cfg.Hops, TrustUnixSocket: cfg.TrustLocal, TrustAll: true, IPv4Bits: cfg.IPv4Bits,
		IPv6Bits: cfg.IPv6Bits,
	}
	var err error
	if out.TrustedProxies, err = networks(cfg.Trusted); err != nil {
		return out, err
	}
	out.NAT64, err = networks(cfg.NAT64)
	return out, err
}

func networks(texts []string) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if addr, bad := netip.ParseAddr(text); err != nil && bad == nil && addr.Zone() == "" {
			network, err = addr.Prefix(addr.BitLen())
		}
		if err != nil {
			return nil, err
		}
		list = append(list, network)
	}
	return list, nil
}

// answer is the bucket of a request under a configuration.
func (cfg addressConfig) answer(remote string, lines [][2]string) addressAnswer {
	parsed, err := cfg.parsed()
	if err != nil {
		return addressAnswer{ConfigError: true}
	}
	r, faults := New(parsed)
	if len(faults) > 0 {
		return addressAnswer{ConfigError: true}
	}
	headers := http.Header{}
	for _, line := range lines {
		headers.Add(line[0], line[1])
	}
	bucket := bucketOf(r, remote, headers)
	if bucket == noAddress {
		return addressAnswer{}
	}
	return addressAnswer{Bucket: &bucket}
}

const noAddress = "no address"

// bucketOf returns the text of the bucket of a request, as keys have it.
func bucketOf(r *Resolver, remote string, headers http.Header) string {
	text, network, _ := r.Bucket(remote, headers.Values(r.Header()))
	switch {
	case text != "":
		return text
	case !network.IsValid():
		return noAddress
	case network.IsSingleIP():
		return network.Addr().String()
	}
	return network.String()
}

// String writes a bucket of one address without its bits, as keys do.
func (a addressAnswer) String() string {
	switch {
	case a.ConfigError:
		return "refused"
	case a.Bucket == nil:
		return noAddress
	}
	if network, err := netip.ParsePrefix(*a.Bucket); err == nil && network.IsSingleIP() {
		return network.Addr().String()
	}
	return *a.Bucket
}

func TestAddressVectors(t *testing.T) {
	vectors := readVectors(t)
	ran := 0
	for _, c := range vectors.Cases {
		t.Run(c.ID, func(t *testing.T) {
			if reason, ok := notExpressible[c.ID]; ok {
				t.Skip(reason)
			}
			ran++
			got := c.Config.answer(c.RemoteAddr, c.Headers).String()
			want := []string{c.Expect.String()}
			if len(c.ExpectOneOf) > 0 {
				want = nil
				for _, answer := range c.ExpectOneOf {
					want = append(want, answer.String())
				}
			}
			for _, w := range want {
				if got == w {
					return
				}
			}
			t.Errorf("the bucket of %q with %q under %+v is\n got %s\nwant %s", c.RemoteAddr, c.Headers, c.Config, got,
				strings.Join(want, " or "))
		})
	}
	if want := len(vectors.Cases) - len(notExpressible); ran != want || ran == 0 {
		t.Errorf("ran %d of %d cases, want %d", ran, len(vectors.Cases), want)
	}
}

func TestAddressGroups(t *testing.T) {
	vectors := readVectors(t)
	if len(vectors.Groups) == 0 {
		t.Fatal("no groups in the file")
	}
	for _, g := range vectors.Groups {
		t.Run(g.ID, func(t *testing.T) {
			buckets := map[string]string{}
			for _, remote := range g.RemoteAddrs {
				buckets[g.Config.answer(remote, nil).String()] = remote
			}
			want := 1
			if g.Expect == "distinct" {
				want = len(g.RemoteAddrs)
			}
			if _, none := buckets[fmt.Sprint(addressAnswer{})]; none || len(buckets) != want {
				t.Errorf("the buckets of %q are %v, want %s ones", g.RemoteAddrs, buckets, g.Expect)
			}
		})
	}
}
