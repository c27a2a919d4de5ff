package redisstore

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed script
var scriptFiles embed.FS

// script is the Lua that decides; script/head.lua tells its arguments and its reply.
type script struct {
	source string
	digest string // SHA-1 in hex, as Redis names scripts
}

// loadScript joins the files in the order in which each uses what stands before it. Closures cost Lua more than a
// decision does, so all that the usual batch can do without is inside a function.
func loadScript() (script, error) {
	var source strings.Builder
	for _, part := range []string{
		"head.lua",
		"\nlocal function general()\n", "general.lua", "windows.lua", "bucket.lua", "log.lua", "batch.lua", "\nend\n",
		"main.lua",
	} {
		if strings.HasSuffix(part, ".lua") {
			text, err := scriptFiles.ReadFile("script/" + part)
			if err != nil {
				return script{}, fmt.Errorf("redisstore: %w", err)
			}
			part = string(text)
		}
		source.WriteString(part)
	}
	sum := sha1.Sum([]byte(source.String()))
	return script{source: source.String(), digest: hex.EncodeToString(sum[:])}, nil
}

// once is a command that go-redis sends one time only: a script whose reply was lost may have spent already.
type once struct{ *redis.Cmd }

// NoRetry is asked by go-redis since v9.19.0.
func (once) NoRetry() bool { return true }

// command makes the call that decides the batches: by digest, or with the whole source for a server that does not
// know it.
func (s *script) command(ctx context.Context, batches []*batch, hint int64, whole bool) once {
	name, which := "evalsha", s.digest
	if whole {
		name, which = "eval", s.source
	}
	return once{redis.NewCmd(ctx, arguments(name, which, batches, hint)...)}
}
