package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log"
	"net/http"
	"strings"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// model answers a prompt chunk by chunk and ends early when ctx does.
type model func(ctx context.Context, prompt string) iter.Seq[chunk]

type chunk struct {
	text   string
	tokens int64
}

const tokenRule = "tokens"

func newHandler(answer model) (http.Handler, error) {
	m, err := httplimit.New(httplimit.Config{
		Expose: true, // for Spend and From
		Rules: []httplimit.Rule{{
			Name: tokenRule,
			Key:  httplimit.ClientIP(), // with accounts: the account, see examples/tiers
			// A bucket, since an answer may overdraw it: the debt is paid off at a steady rate.
			Limit: limiter.Limit{Requests: 100, Window: time.Minute, Algorithm: limiter.TokenBucket},
			Cost:  promptCost,
		}},
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /complete", m.Handler(answer))
	return mux, nil
}

// promptCost is known beforehand, so a prompt that does not fit is refused. It is at least one token: a request without
// a cost would pass although nothing is left.
func promptCost(r *http.Request) (int64, error) {
	return max(1, tokens(prompt(r))), nil
}

// ServeHTTP streams the answer as server-sent events, and then an event with what is left. Spend refuses nothing:
// an answer under way is finished, also beyond the limit, and the client's next requests wait for the debt.
func (answer model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	stream := http.NewResponseController(w)
	for chunk := range answer(r.Context(), prompt(r)) {
		// Chunk by chunk and not at the end: concurrent requests see it, and a client that hangs up has paid for
		// what was written until then. With a remote store each Spend is a call: then every tenth chunk will do.
		if err := httplimit.Spend(r.Context(), tokenRule, chunk.tokens); err != nil {
			log.Print("tokens: ", err) // a chunk that is not paid for is better than half an answer
		}
		fmt.Fprintf(w, "data: %s\n\n", chunk.text)
		if err := stream.Flush(); err != nil {
			return // the client has left
		}
	}
	if r.Context().Err() == nil {
		writeUsage(w, r)
	}
}

// writeUsage sends what is left now: the header fields were sent before the answer had cost anything.
func writeUsage(w http.ResponseWriter, r *http.Request) {
	for _, v := range httplimit.Verdicts(r.Context()) {
		usage, err := json.Marshal(map[string]any{
			"rule": v.Rule, "spent": v.Cost, "left": v.Remaining, "full_in": v.ResetAfter.String(),
		})
		if err != nil {
			log.Print("tokens: ", err)
			return
		}
		fmt.Fprintf(w, "event: usage\ndata: %s\n\n", usage)
	}
}

// prompt comes from the URL: a body can be read once only, and the limiter needs it before the handler does (see
// examples/login).
func prompt(r *http.Request) string { return r.URL.Query().Get("prompt") }

// tokens is what a text costs. A real service asks the model's tokenizer.
func tokens(text string) int64 { return int64(len(strings.Fields(text))) }

// parrot stands for a language model: it says the prompt again and again.
type parrot struct {
	times int
	pace  time.Duration // before each chunk
}

func (p parrot) answer(ctx context.Context, prompt string) iter.Seq[chunk] {
	return func(yield func(chunk) bool) {
		text := strings.Join(strings.Fields(prompt), " ")
		for range p.times {
			select {
			case <-time.After(p.pace):
			case <-ctx.Done():
				return
			}
			if !yield(chunk{text, tokens(text)}) {
				return
			}
		}
	}
}
