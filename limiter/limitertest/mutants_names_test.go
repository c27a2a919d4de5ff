package limitertest

import (
	"strings"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/refstore"
)

// renamed is misnamed by what becomes of the key.
func renamed(key func(string) string) func(*refstore.Store) limiter.Store {
	return misnamed(func(id refstore.ID) refstore.ID {
		id.Key = key(id.Key)
		return id
	})
}

func nameMutants() []mutant {
	return []mutant{
		{name: "scope is left out", fails: "counters are separate", make: misnamed(func(id refstore.ID) refstore.ID {
			id.Scope = ""
			return id
		})},
		{name: "algorithm is left out", fails: "counters are separate", make: misnamed(func(id refstore.ID) refstore.ID {
			id.Algorithm = 0
			return id
		})},
		{name: "window is left out", fails: "counters are separate", make: misnamed(func(id refstore.ID) refstore.ID {
			id.Window = 0
			return id
		})},
		{name: "window in days", fails: "counters are separate", make: misnamed(func(id refstore.ID) refstore.ID {
			id.Window = id.Window.Round(aDay)
			return id
		})},
		{name: "scope and key are joined by a colon", fails: "hostile names",
			make: misnamed(func(id refstore.ID) refstore.ID {
				id.Scope, id.Key = "", id.Scope+":"+id.Key
				return id
			})},
		{name: "scope and key are joined by a zero byte", fails: "hostile names",
			make: misnamed(func(id refstore.ID) refstore.ID {
				id.Scope, id.Key = "", id.Scope+"\x00"+id.Key
				return id
			})},
		{name: "keys are cut at 250 bytes", fails: "hostile names",
			make: renamed(func(key string) string { return key[:min(len(key), 250)] })},
		{name: "keys end at a zero byte", fails: "hostile names", make: renamed(func(key string) string {
			key, _, _ = strings.Cut(key, "\x00")
			return key
		})},
		{name: "keys are made valid UTF-8", fails: "hostile names",
			make: renamed(func(key string) string { return strings.ToValidUTF8(key, "\ufffd") })},
		{name: "keys are trimmed", fails: "hostile names", make: renamed(strings.TrimSpace)},
		{name: "keys are lower-cased", fails: "hostile names", make: renamed(strings.ToLower)},
		{name: "keys lose control characters", fails: "hostile names", make: renamed(func(key string) string {
			return strings.Map(func(r rune) rune {
				if r < ' ' {
					return '_'
				}
				return r
			}, key)
		})},
		{name: "keys lose braces", fails: "hostile names", make: renamed(strings.NewReplacer("{", "", "}", "").Replace)},
		{name: "an empty key is the key of all", fails: "hostile names", make: renamed(func(key string) string {
			if key == "" {
				return "*"
			}
			return key
		})},
	}
}
