package policy_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/httplimit/httplimit/policy"
)

// shop has everything that a policy can say.
const shop = `{"$schema": "schema.json", "namespace": "shop", "trustedProxies": ["10.0.0.0/8", "fd00::/8"],
 "headers": "ratelimit + x-ratelimit-delta", "instances": 10,
 "rules": [
  {"name": "address", "key": "ip", "limit": "300/m"},
  {"name": "login", "key": "ip + header:X-User", "noKey": "everyone", "limit": "5/15m sliding-log",
   "when": ["POST /login", "name:api"], "countStatus": [401, 403], "private": true, "failure": "fail-closed",
   "ban": {"after": 20, "within": "10m", "for": "1h"}},
  {"name": "export", "key": "apikey:X-API-Key | cookie:session + ip", "limit": "20/h",
   "plans": {"pro": "200/h", "big": "0/h"}, "when": ["/export/"], "cost": 10, "percent": 50},
  {"name": "streams", "key": "name:user | bearer", "limit": "3/5m", "inFlight": true, "notFrom": ["192.0.2.0/24"]},
  {"name": "blocked", "key": "ip", "limit": "0/m", "onlyFrom": ["198.51.100.0/24"], "shadow": true}]}`

func mustParse(t *testing.T, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse([]byte(text))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return p
}

// TestTextComesBack: what MarshalJSON writes is the same policy, and writes itself alike.
func TestTextComesBack(t *testing.T) {
	text, err := json.Marshal(mustParse(t, shop))
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(mustParse(t, string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if string(again) != string(text) {
		t.Errorf("written, read and written again:\ngot  %s\nwant %s", again, text)
	}
	var given, got any
	for text, into := range map[string]*any{shop: &given, string(text): &got} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(got, given) {
		t.Errorf("what was read is not what is written:\ngot  %v\nwant %v", got, given)
	}
}

// TestUnmarshalIsParse: encoding/json gives the same faults, and leaves a policy as it was.
func TestUnmarshalIsParse(t *testing.T) {
	p := mustParse(t, shop)
	err := json.Unmarshal([]byte(`{"rules": [{"name": "a", "key": "ip", "limit": "5/w"}]}`), p)
	if faults := policy.Faults(err); len(faults) != 1 || faults[0].Path != "rules[0].limit" {
		t.Errorf("got %v, want the fault of the limit", err)
	}
	if p.Namespace != "shop" || len(p.Rules) != 5 {
		t.Errorf("the policy is %+v after an error, want what it was", p)
	}
}
