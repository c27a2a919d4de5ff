package console

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

var update = flag.Bool("update", false, "write the golden files anew")

// shortSeries has each list of numbers replaced by how many there are and their sum.
func shortSeries(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = shortSeries(v[name])
		}
	case []any:
		sum, numbers := 0.0, 0
		for i := range v {
			if n, is := v[i].(float64); is {
				sum, numbers = sum+n, numbers+1
			}
			v[i] = shortSeries(v[i])
		}
		if numbers > 0 && numbers == len(v) {
			return fmt.Sprintf("%d numbers, %v in all", numbers, sum)
		}
	}
	return v
}

// TestJSON compares the API's answers with testdata: names and units are stable.
func TestJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := memstore.New(memstore.Config{Name: "counters"})
		if err != nil {
			t.Fatal(err)
		}
		both := httplimit.Compose(httplimit.ClientIP(), httplimit.BasicUser())
		s := newSiteOf(t, httplimit.Config{Namespace: "shop", Instances: 3, Store: store, Rules: []httplimit.Rule{
			byAddress("address", limiter.PerMinute(10)),
			{Name: "search", Key: httplimit.ClientIP(), Limit: limiter.PerMinute(2), Shadow: true},
			{
				Name: "login", Key: both, NoKey: httplimit.Everyone(), Limit: limiter.PerHour(3),
				Plans: []limiter.Limit{limiter.PerHour(30)}, Private: true,
				Failure: httplimit.FailClosed, Ban: httplimit.Ban{After: 2, Within: 10 * time.Minute, For: time.Hour},
			},
		}})
		s.host, s.pid = "host", 42
		ann := func(r *http.Request) { r.SetBasicAuth("ann", "x") }
		for range 12 {
			s.request("192.0.2.7", ann)
			s.request("192.0.2.8")
			time.Sleep(time.Second)
		}
		login, ip := ruleID("shop", "login"), shapeOf(t, s, "ip")
		ann7 := form("rule", login, "part", "192.0.2.7", "part", "ann")
		for _, call := range []struct {
			file string
			body []byte
		}{
			{"overview", s.get("api/overview.json").Body.Bytes()},
			{"rule", s.get("api/rule.json?id=" + login).Body.Bytes()},
			{"stores", s.get("api/stores.json").Body.Bytes()},
			{"config", s.get("api/config.json").Body.Bytes()},
			{"client", s.post("api/client.json", ann7, "").Body.Bytes()},
			{"client-by-shape", s.post("api/client.json", form("shape", ip, "part", "192.0.2.8"), "").Body.Bytes()},
			{"reset", s.post("api/reset.json", ann7, "alice").Body.Bytes()},
			{"activity", s.get("api/activity.json").Body.Bytes()},
		} {
			compareGolden(t, "testdata/"+call.file+".json", call.body)
		}
	})
}

func compareGolden(t *testing.T, file string, body []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%s: %v in %s", file, err, body)
	}
	got, err := json.MarshalIndent(shortSeries(v), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s\n(go test -update writes it anew)", file, got, want)
	}
}

// Lists are never null, also where nothing is known: of a rule that nobody watches, of a store that cannot decide, of a
// key without parts.
func TestJSONOfNothing(t *testing.T) {
	closed := httplimit.Rule{
		Name: "closed", Key: httplimit.Everyone(), Limit: limiter.PerDay(5), Failure: httplimit.FailClosed,
	}
	s := newSiteOf(t, httplimit.Config{Namespace: "shop", Store: brokenStore{}, Rules: []httplimit.Rule{
		closed, byAddress("address", limiter.PerDay(5)),
	}})
	other, err := httplimit.New(httplimit.Config{
		Namespace: "other", Observer: s, Rules: []httplimit.Rule{byAddress("unwatched", limiter.PerDay(5))},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Allow(t.Context(), "unwatched", "192.0.2.7"); err != nil {
		t.Fatal(err)
	}
	all := s.get("api/overview.json").Body.String() + s.get("api/stores.json").Body.String() +
		s.get("api/rule.json?id="+ruleID("other", "unwatched")).Body.String() +
		s.get("api/rule.json?id="+ruleID("shop", "closed")).Body.String() +
		s.post("api/client.json", form("rule", ruleID("shop", "closed")), "").Body.String() +
		s.post("api/client.json", form("rule", ruleID("shop", "address"), "part", "no address"), "").Body.String()
	null := regexp.MustCompile(`"(clients|nearLimit|plans|problems|results|rules|servers|stores|unsaid|verdicts)":null`)
	for _, found := range null.FindAllString(all, -1) {
		t.Errorf("got %s", found)
	}
	for _, want := range []string{`"verdicts":[]`, `"stores":[]`, `"parts":[]`} {
		if !strings.Contains(all, want) {
			t.Errorf("got no %s in %s", want, all)
		}
	}
}
