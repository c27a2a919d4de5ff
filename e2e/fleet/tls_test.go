package fleet_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	certificate, authorities := selfSigned(t)
	addr := listenTLS(t, servers.Redis(t).Addr(), certificate)
	for name, tc := range map[string]struct {
		config *tls.Config
		want   bool // a decision
	}{
		"the right authority": {&tls.Config{RootCAs: authorities}, true},
		"another authority":   {&tls.Config{RootCAs: x509.NewCertPool()}, false},
		"no TLS":              {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			client := redis.NewClient(&redis.Options{
				Addr: addr, TLSConfig: tc.config, Username: user, Password: password, ContextTimeoutEnabled: true,
			})
			t.Cleanup(func() { client.Close() })
			store := newStore(t, client, redisstore.Config{DenyCache: noCache})
			for _, want := range []bool{tc.want, false} {
				taken, err := store.Take(t.Context(), []limiter.Charge{hot(1, 1)})
				if taken != want || (err == nil) != tc.want {
					t.Errorf("got %v, %v, want %v and an error: %v", taken, err, want, !tc.want)
				}
			}
		})
	}
}

// listenTLS makes a running server listen for TLS as well, and returns the address.
func listenTLS(t *testing.T, addr, certificate string) string {
	t.Helper()
	addAccount(t, rules, addr)
	server := operator(t, addr)
	for _, setting := range []string{"tls-cert-file", "tls-key-file", "tls-ca-cert-file"} {
		text(t, server, "CONFIG", "SET", setting, certificate)
	}
	text(t, server, "CONFIG", "SET", "tls-auth-clients", "no")
	var fault error
	for range 5 { // the port is free now, and may be taken until the server binds it
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		secure := l.Addr().String()
		l.Close()
		_, port, _ := net.SplitHostPort(secure)
		if fault = server.ConfigSet(t.Context(), "tls-port", port).Err(); fault == nil {
			return secure
		}
	}
	t.Fatal(fault)
	return ""
}

// selfSigned writes a certificate for the loopback address and its key to one file, and returns
// the file and a pool that trusts the certificate.
func selfSigned(t *testing.T) (file string, authorities *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "fleet"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	authorities = x509.NewCertPool()
	authorities.AppendCertsFromPEM(text)
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...)
	file = filepath.Join(t.TempDir(), "server.pem")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file, authorities
}
