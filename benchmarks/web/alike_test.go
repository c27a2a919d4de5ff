package web_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/httplimit/httplimit/benchmarks/web"
	"github.com/httplimit/httplimit/benchmarks/workload"
)

// TestAlike shows what the answers of httplimit-alike have besides those of the frameworks' own limiters: a body of the
// same length, all fields that those have, and these.
func TestAlike(t *testing.T) {
	tests := map[string]struct{ rivals, allowed, refused []string }{
		"echo":   {[]string{"echo"}, nil, []string{"Cache-Control", "Retry-After"}},
		"echo5":  {[]string{"echo5"}, []string{"X-Ratelimit-Reset"}, []string{"Cache-Control", "X-Ratelimit-Reset"}},
		"fiber":  {[]string{"fiber-fixed", "fiber-sliding"}, nil, []string{"Cache-Control"}},
		"fiber3": {[]string{"fiber3-fixed", "fiber3-sliding"}, nil, []string{"Cache-Control"}},
	}
	for framework, tt := range tests {
		for _, rival := range tt.rivals {
			for _, key := range []web.Key{web.Address, web.Header} {
				t.Run("rival="+rival+"/key="+string(key), func(t *testing.T) {
					for answer, extra := range map[int][]string{http.StatusOK: tt.allowed, http.StatusTooManyRequests: tt.refused} {
						theirs, theirLength := last(t, framework, rival, key, answer)
						ours, length := last(t, framework, web.OwnAlike, key, answer)
						if length != theirLength {
							t.Errorf("%d: the body has %d bytes, want %d", answer, length, theirLength)
						}
						want := slices.Sorted(maps.Keys(theirs))
						want = append(want, extra...)
						slices.Sort(want)
						if got := slices.Sorted(maps.Keys(ours)); !slices.Equal(got, want) {
							t.Errorf("%d: the fields are %q, want %q", answer, got, want)
						}
					}
				})
			}
		}
	}
}

// last returns an answer of that status.
func last(t *testing.T, framework, name string, key web.Key, status int) (fields http.Header, length int) {
	t.Helper()
	all := web.Subjects()
	i := slices.IndexFunc(all, func(s web.Subject) bool { return s.Framework == framework && s.Name == name })
	if i < 0 {
		t.Fatalf("there is no subject %q of %q", name, framework)
	}
	refuses := status == http.StatusTooManyRequests
	open, err := all[i].Open(web.Setup{Key: key, Limit: 1, Window: workload.Window, Refuses: refuses})
	if err != nil {
		t.Fatal(err)
	}
	session := open()
	got := session.Serve(0)
	if refuses {
		got = session.Serve(0)
	}
	if got != status {
		t.Fatalf("%s answers %d, want %d", name, got, status)
	}
	fields, length = session.Last()
	return fields.Clone(), length
}
