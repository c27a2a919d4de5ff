package httplimit_test

import (
	"encoding"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// TestTextOfEnumerations: each has one text, that of String, which UnmarshalText reads back.
func TestTextOfEnumerations(t *testing.T) {
	type text interface {
		fmt.Stringer
		encoding.TextMarshaler
	}
	style := new(httplimit.HeaderStyle)
	failure := new(httplimit.FailurePolicy)
	algorithm := new(limiter.Algorithm)
	for _, tt := range []struct {
		value text
		into  encoding.TextUnmarshaler
		read  func() text
		want  string
	}{
		{httplimit.FailLocal, failure, func() text { return *failure }, "fail-local"},
		{httplimit.FailOpen, failure, func() text { return *failure }, "fail-open"},
		{httplimit.FailClosed, failure, func() text { return *failure }, "fail-closed"},
		{httplimit.RateLimitFields, style, func() text { return *style }, "ratelimit"},
		{httplimit.RateLimitDraft07, style, func() text { return *style }, "ratelimit-draft-07"},
		{httplimit.RateLimitDraft06, style, func() text { return *style }, "ratelimit-draft-06"},
		{httplimit.XRateLimitEpoch, style, func() text { return *style }, "x-ratelimit-epoch"},
		{httplimit.XRateLimitDelta, style, func() text { return *style }, "x-ratelimit-delta"},
		{httplimit.NoHeaders, style, func() text { return *style }, "none"},
		{httplimit.RateLimitFields | httplimit.XRateLimitDelta, style, func() text { return *style },
			"ratelimit + x-ratelimit-delta"},
		{limiter.SlidingWindow, algorithm, func() text { return *algorithm }, "sliding-window"},
		{limiter.StrictWindow, algorithm, func() text { return *algorithm }, "strict-window"},
	} {
		written, err := tt.value.MarshalText()
		if err != nil || string(written) != tt.want || tt.value.String() != tt.want {
			t.Errorf("%T: got %q, %q and %v, want %q twice", tt.value, written, tt.value, err, tt.want)
		}
		if err := tt.into.UnmarshalText([]byte(tt.want)); err != nil || tt.read() != tt.value {
			t.Errorf("%T: %q became %v and %v, want it back", tt.value, tt.want, tt.read(), err)
		}
	}
	if got := httplimit.HeaderStyle(0).String(); got != "ratelimit" {
		t.Errorf("the zero HeaderStyle is %q, want that of RateLimitFields", got)
	}
}

// TestTextThatIsNone: a text in another case, or of another meaning, is an error that tells the right ones, and
// changes nothing.
func TestTextThatIsNone(t *testing.T) {
	style, failure, algorithm := httplimit.NoHeaders, httplimit.FailOpen, limiter.TokenBucket
	for text, into := range map[string]encoding.TextUnmarshaler{
		"":                                    &failure,
		"Fail-Closed":                         &failure,
		"fail_closed":                         &failure,
		"RateLimit":                           &style,
		"ratelimit, x-ratelimit-delta":        &style,
		"ratelimit + none":                    &style,
		"ratelimit + ratelimit":               &style,
		"ratelimit + ratelimit-draft-07":      &style,
		"x-ratelimit-delta + ":                &style,
		"x-ratelimit-delta+x-ratelimit-epoch": &style,
		"gcra":                                &algorithm,
	} {
		if err := into.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "want") &&
			!strings.Contains(err.Error(), "stands alone") {
			t.Errorf("%T of %q: got %v, want an error that says what would be right", into, text, err)
		}
	}
	if style != httplimit.NoHeaders || failure != httplimit.FailOpen || algorithm != limiter.TokenBucket {
		t.Errorf("they became %v, %v and %v, want them as they were", style, failure, algorithm)
	}
	for _, value := range []encoding.TextMarshaler{
		httplimit.FailurePolicy(3), httplimit.HeaderStyle(1 << 6), httplimit.NoHeaders | httplimit.RateLimitFields,
		limiter.Algorithm(9),
	} {
		if text, err := value.MarshalText(); err == nil {
			t.Errorf("%T: got the text %q of a value that is none", value, text)
		}
	}
}

func userOf(*http.Request) (string, error) { return "", httplimit.ErrNoKey }

func TestTextOfKeys(t *testing.T) {
	lb := netip.MustParsePrefix("10.0.0.0/8")
	for _, tt := range []struct {
		key  httplimit.Key
		want string
	}{
		{httplimit.ClientIP(), "ip"},
		{httplimit.ClientIP(lb), "ip"},
		{httplimit.ClientIPFrom(httplimit.ClientIPConfig{}), "ip"},
		{httplimit.ClientIPFrom(httplimit.ClientIPConfig{IPv6Bits: 48}), "name:ClientIPFrom"},
		{httplimit.ClientIPFrom(httplimit.ClientIPConfig{Header: "CF-Connecting-IP", TrustedHops: 1}),
			"name:ClientIPFrom"},
		{httplimit.ClientIPFrom(httplimit.ClientIPConfig{Header: "Forwarded", TrustedHops: 1}), "name:ClientIPFrom"},
		{httplimit.ClientIP(netip.MustParsePrefix("0.0.0.0/0")), "name:ClientIPFrom"},
		{httplimit.Everyone(), "everyone"},
		{httplimit.Route(), "route"},
		{httplimit.RouteOf(http.NewServeMux()), "name:RouteOf"},
		{httplimit.BearerToken(), "bearer"},
		{httplimit.Secret(httplimit.BearerToken()), "bearer"},
		{httplimit.BasicUser(), "basic"},
		{httplimit.ClientCert(), "cert"},
		{httplimit.APIKey("x-api-key"), "apikey:X-Api-Key"},
		{httplimit.Header("x-user"), "header:X-User"},
		{httplimit.Header("Authorization"), "apikey:Authorization"},
		{httplimit.Cookie("session"), "cookie:session"},
		{httplimit.Secret(httplimit.Header("X-User")), "apikey:X-User"},
		{httplimit.Secret(httplimit.BasicUser()), "name:Secret"},
		{httplimit.ContextValue(userKey{}), "name:ContextValue.httplimit_test.userKey"},
		{httplimit.KeyFunc(userOf), "name:httplimit_test.userOf"},
		{httplimit.KeyFunc(nil), "name:nil"},
		{httplimit.Compose(httplimit.ClientIP(), httplimit.Header("X-User")), "ip + header:X-User"},
		{httplimit.FirstOf(httplimit.APIKey("X-Key"), httplimit.ClientIP()), "apikey:X-Key | ip"},
		{httplimit.FirstOf(httplimit.Compose(httplimit.Route(), httplimit.BearerToken()), httplimit.ClientIP()),
			"route + bearer | ip"},
		{httplimit.Compose(httplimit.FirstOf(httplimit.BearerToken(), httplimit.ClientIP()), httplimit.Route()),
			"name:Compose"},
		{httplimit.Compose(httplimit.ClientIP()), "name:Compose"}, // whose keys are not those of ClientIP
		{httplimit.FirstOf(httplimit.ClientIP()), "name:FirstOf"},
		{httplimit.Compose(nil, httplimit.ClientIP()), "name:Compose"},
	} {
		if got := fmt.Sprint(tt.key); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
