package policyfile_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/policyfile"
	"github.com/httplimit/httplimit/policy"
)

const inJSON = `{"namespace": "shop", "trustedProxies": ["10.0.0.0/8"], "rules": [
	{"name": "login", "key": "ip + header:X-User", "limit": "5/15m", "when": ["POST /login", "name:api"], "private": true,
	 "cost": 2, "ban": {"after": 20, "within": "10m", "for": "1h"}},
	{"name": "export", "key": "apikey:X-API-Key | ip", "limit": "20/h", "plans": {"pro": "200/h", "1": "40/h"}}]}`

const inYAML = `# the shop's
namespace: shop
trustedProxies: [10.0.0.0/8]
rules:
  - name: login
    key: ip + header:X-User
    limit: &few 5/15m # in words: five
    when:
      - POST /login
      - "name:api"
    private: true
    cost: 0x2
    ban: {after: 20, within: 10m, for: 1h}
  - name: export
    key: apikey:X-API-Key | ip
    limit: 20/h
    plans:
      pro: 200/h
      1: '40/h'
`

// read reads a policy from a file of that name.
func read(t *testing.T, name, text string) (*policy.Policy, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return policyfile.Read(name, nil)
}

func TestYAMLAndJSONAreOnePolicy(t *testing.T) {
	var texts []string
	for name, text := range map[string]string{
		"a.json": inJSON, "a.yaml": inYAML, "b.YML": inYAML,
		"json-without-ending": "\n" + inJSON, "yaml-without-ending": inYAML,
		"json.yaml": strings.ReplaceAll(inJSON, "\t", " "),
		"alias.yml": strings.NewReplacer("&few 5/15m", "5/15m", "key: ip", "key: &k ip").Replace(inYAML),
		"dos.yaml":  strings.ReplaceAll(inYAML, "\n", "\r\n"),
	} {
		p, err := read(t, name, text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		written, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(written))
	}
	for _, text := range texts {
		if text != texts[0] {
			t.Errorf("got  %s\nwant %s", text, texts[0])
		}
	}
}

func TestStandardInput(t *testing.T) {
	for _, text := range []string{inJSON, inYAML} {
		if p, err := policyfile.Read(policyfile.Stdin, strings.NewReader(text)); err != nil || len(p.Rules) != 2 {
			t.Errorf("got %v, want two rules", err)
		}
	}
	_, err := policyfile.Read(policyfile.Stdin, strings.NewReader("rules: 1"))
	if want := "standard input:1:8: rules: it is a number, want a list"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestAliases: an anchor saves repeating a value.
func TestAliases(t *testing.T) {
	p, err := read(t, "a.yaml", "rules:\n- {name: a, key: &k ip, limit: &l 5/m}\n- {name: b, key: *k, limit: *l}\n")
	if err != nil || p.Rules[1].Limit != p.Rules[0].Limit || p.Rules[1].Key.String() != "ip" {
		t.Errorf("got %+v and %v, want two equal rules", p, err)
	}
}

func TestFaults(t *testing.T) {
	for name, tt := range map[string]struct{ file, text, want string }{
		"JSON": {"p.json", "{\n\"rules\": [{\"name\": \"a\", \"key\": \"ip\", \"limit\": \"5\"}]}",
			`p.json:2:47: rules[0] "a".limit: cannot read limit "5"`},
		"all of them": {"p.yaml", "Rules: []\nrules:\n- name: a\n  key: ip\n  limit: 5/w\n  when: [/a, name]\n  name: b\n",
			"p.yaml:1:1: there is no \"Rules\" here, want \"rules\"\n" +
				"p.yaml:5:10: rules[0] \"a\".limit: cannot read limit \"5/w\": unknown unit \"w\"\n" +
				"p.yaml:6:14: rules[0] \"a\".when[1]: \"name\" is no pattern\n" +
				"p.yaml:7:3: rules[0] \"a\": \"name\" stands there already"},
		"missing":         {"p.yaml", "rules:\n- key: ip\n  limit: 5/m", `p.yaml:2:3: rules[0].name: it is missing`},
		"empty":           {"p.yaml", "# nothing\n", "p.yaml:1:1: it is empty, want a policy"},
		"empty JSON":      {"p.json", "", "p.json:1:1: it is empty, want a policy"},
		"null":            {"p.yaml", "---\n", "p.yaml:"},
		"no YAML":         {"p.yaml", "rules:\n\t- a\n", "p.yaml:2:1: it is not YAML: found character that cannot"},
		"two documents":   {"p.yaml", "rules: []\n---\nrules: []\n", "p.yaml:2:1: a second document begins here, want one"},
		"merge":           {"p.yaml", "a: &a {x: 1}\nrules:\n- <<: *a\n", "p.yaml:3:3: << is not read here"},
		"a list for name": {"p.yaml", "? [a]\n: 1\n", "p.yaml:1:3: a name is a text"},
		"within itself":   {"p.yaml", "rules: &r [*r]\n", "p.yaml:1:8: it goes deeper, or on for longer,"},
		"laughs":          {"p.yaml", laughs(), "p.yaml:"},
		"yes": {"p.yaml", "rules:\n- {name: a, key: ip, limit: 5/m, shadow: yes}",
			`p.yaml:2:42: rules[0] "a".shadow: it is a text, want true`},
		"number": {"p.yaml", "rules:\n- {name: 5, key: ip, limit: 5/m, cost: 1.5}",
			`p.yaml:2:10: rules[0].name: it is a number`},
		"octal or not": {"p.yaml", "rules:\n- {name: a, key: ip, limit: 50/m, cost: 010}",
			`p.yaml:2:41: rules[0] "a".cost: it is a text, want a number from 1 to`},
		"half a character": {"p.yaml", "namespace: \"\xff\"", "p.yaml:1:1: it is not YAML: "},
		"binary":           {"policy", "\x7fELF\x02\x01\x00\x00", "policy:1:1: it is not YAML: "},
		"large":            {"access.log", strings.Repeat("a line\n", 200_000), "access.log: it has more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, tt.file, tt.text)
			if err == nil {
				t.Fatal("got no error")
			}
			got, want := strings.Split(err.Error(), "\n"), strings.Split(tt.want, "\n")
			if len(got) < len(want) {
				t.Fatalf("got %q, want %q", got, want)
			}
			for i := range want {
				if !strings.HasPrefix(got[i], want[i]) {
					t.Errorf("fault %d:\ngot  %s\nwant %s", i+1, got[i], want[i])
				}
			}
		})
	}
}

// laughs is a short text that is long when all its anchors are written out.
func laughs() string {
	text := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for _, level := range []string{"1 0", "2 1", "3 2", "4 3", "5 4", "6 5", "7 6"} {
		to, from, _ := strings.Cut(level, " ")
		text += "a" + to + ": &a" + to + " [" + strings.Repeat("*a"+from+", ", 9) + "*a" + from + "]\n"
	}
	return text
}

func TestFilesThatCannotBeRead(t *testing.T) {
	folder := t.TempDir()
	for name, want := range map[string]string{
		filepath.Join(folder, "none.json"): "none.json: no such file or directory",
		folder:                             ": is a directory",
	} {
		if _, err := policyfile.Read(name, nil); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// FuzzYAML: no text panics or hangs, a fault in it has a place in the text, and a policy in it is one in JSON too.
func FuzzYAML(f *testing.F) {
	f.Add(inYAML)
	f.Add(inJSON)
	f.Add(laughs())
	f.Add("rules: &r [*r]\n")
	f.Add("rules:\n- {name: a, key: &k ip, limit: 5/m}\n" +
		"- {name: b, key: *k, limit: 0o7/m, cost: 1e3, percent: 0x1F}\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := policyfile.Read(policyfile.Stdin, strings.NewReader("# YAML\n"+text))
		if err == nil {
			written, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := policy.Parse(written); err != nil {
				t.Errorf("%s: %v", written, err)
			}
			return
		}
		lines := strings.Count(text, "\n") + 2
		for fault := range strings.SplitSeq(err.Error(), "\n") {
			place, found := strings.CutPrefix(fault, "standard input:")
			line := 0
			for _, c := range place {
				if c < '0' || c > '9' {
					break
				}
				line = min(line*10+int(c-'0'), 1<<30)
			}
			if !found || line < 1 || line > lines+1 {
				t.Errorf("%q has no place in a text of %d lines", fault, lines)
			}
		}
	})
}

// TestDocument: the YAML of docs/policy.md is a policy.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```yaml\n")[1:]
	if len(blocks) == 0 {
		t.Fatal("there is no block of YAML")
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		if _, err := policyfile.Read(policyfile.Stdin, strings.NewReader(block)); err != nil {
			t.Errorf("%s%v", block, err)
		}
	}
}
