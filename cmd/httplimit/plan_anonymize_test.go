package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// What a line has told as a user, as a client's name or as the value of a header is hidden in paths and agents too, in
// whatever spelling it stands there, and so are addresses that were cut.
func TestPlanAnonymizeSpellings(t *testing.T) {
	at := folder(t, map[string]string{"policy.json": `{"rules": [
		{"name": "user", "key": "ip + header:X-User", "limit": "1/h"},
		{"name": "session", "key": "apikey:X-API-Key | cookie:sid", "limit": "1/h"}]}`})
	for _, path := range []string{"/users/alice77.json", "/Users/ALICE77", "/u;user=alice77", "/users/alice77%2Fx",
		"/users/alice77,bob", "/alice77:edit", "/~alice77", "/hooks/key-KEY77/x", "/hooks/KEY77", "/s/SID77",
		"/pc/pc77-of-bob/x", "/search;q=QUERY77", "/x&q=QUERY77", "/ip/198-51-100-77/",
		"/" + strings.Repeat("x", 188) + "/198.51.100.77",
		"/" + strings.Repeat("x", 193) + "/alice77", "/%2561lice77"} {
		var log strings.Builder
		for i, client := range []string{"198.51.100.77", "198.51.100.77", "pc77-of-bob", "pc77-of-bob"} {
			fmt.Fprintf(&log, "%s|%d|GET %s HTTP/1.1|200|alice77|key-KEY77|SID77|"+
				"App/1 (alice77; KEY77; +key-KEY77, sid:SID77)\n", client, 1740993300+i, path)
		}
		status, stdout, stderr := runPlan(t, log.String(), "-policy", at("policy.json"), "-anonymize",
			"-json", at("out.json"), "-o", at("out.html"), "-format",
			"nginx:$remote_addr|$msec|$request|$status|$http_x_user|$http_x_api_key|$cookie_sid|$http_user_agent", "-")
		if status != exitOK {
			t.Fatalf("the status is %d: %s", status, stderr)
		}
		page, err := os.ReadFile(at("out.html"))
		if err != nil || !strings.Contains(string(page), "App/1 (") {
			t.Fatalf("the page tells no agent: %v", err)
		}
		figures, err := os.ReadFile(at("out.json"))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ToLower(stdout + stderr + string(page) + string(figures))
		for _, secret := range []string{"alice", "key-key77", "sid77", "pc77", "query77", "198.51", "198-51"} {
			if at := strings.Index(text, secret); at >= 0 {
				t.Errorf("with the path %.60s %q is told: %q", path, secret, text[max(0, at-40):at+20])
			}
		}
	}
}
