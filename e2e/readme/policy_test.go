package readme_test

import (
	"os"
	"strings"
	"testing"

	"github.com/httplimit/httplimit/policy"
)

// TestPolicies: every block of JSON that is a policy has no fault.
func TestPolicies(t *testing.T) {
	t.Parallel()
	total := 0
	for _, file := range documents(t, abs(t, "../../docs/migrating")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range strings.Split(string(text), "```json\n")[1:] {
			total++
			block, _, _ = strings.Cut(block, "```")
			p, err := policy.Parse([]byte(block))
			if err == nil {
				_, err = p.Config(policy.Names{})
			}
			if err != nil {
				t.Errorf("%s: %v\n%s", file, err, block)
			}
		}
	}
	if total == 0 {
		t.Error("docs/migrating has no policy")
	}
}
