package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log"
	"net/http"
	"strconv"
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
			Cost:  cost,
		}},
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /complete", m.Handler(http.HandlerFunc(answer.payAfterwards)))
	mux.Handle(prepaid, m.Handler(http.HandlerFunc(answer.payFirst)))
	return mux, nil
}

const (
	prepaid    = "GET /prepaid"
	mostTokens = 60 // of a prepaid answer: what this service allows, whatever the client asks for
)

// cost is known beforehand, so a request that does not fit is refused. It is at least one token: a request without a
// cost would pass although nothing is left.
func cost(r *http.Request) (int64, error) {
	n := max(1, tokens(prompt(r)))
	if r.Pattern == prepaid {
		n += maxTokens(r)
	}
	return n, nil
}

// payAfterwards charges the answer while it streams. Spend refuses nothing: an answer under way is finished, also
// beyond the limit, and the client's next requests wait for the debt.
//
// It is the way where nobody knows how long an answer may get, or where a client may overdraw its limit as long as it
// pays later. Requests at once all pass while anything is left: twenty streams of 500 tokens overdraw a limit of 1,000
// by 9,000.
func (answer model) payAfterwards(w http.ResponseWriter, r *http.Request) {
	answer.stream(w, r, func(tokens int64) (paid bool) {
		// Chunk by chunk and not at the end: concurrent requests see it, and a client that hangs up has paid for
		// what was written until then. With a remote store each Spend is a call: then every tenth chunk will do.
		if err := httplimit.Spend(r.Context(), tokenRule, tokens); err != nil {
			log.Print("tokens: ", err) // a chunk that is not paid for is better than half an answer
		}
		return true
	})
	writeUsage(w, r)
}

// payFirst has charged the most that the answer may cost, see cost, ends the answer there, and gives back the rest.
//
// It is the way where the limit must hold at every moment, since the tokens are somebody's money or all that a machine
// can do: of twenty streams of up to 500 tokens at once, two pass a limit of 1,000. The price is that others wait for
// what will be given back, so ask for a max_tokens that is not far from the truth.
func (answer model) payFirst(w http.ResponseWriter, r *http.Request) {
	answer.streamPrepaid(w, r, maxTokens(r))
	writeUsage(w, r)
}

func (answer model) streamPrepaid(w http.ResponseWriter, r *http.Request, left int64) {
	defer func() { // also if the client hangs up, or the model panics
		if err := httplimit.Spend(r.Context(), tokenRule, -left); err != nil {
			log.Print("tokens: ", err) // they stay spent: nobody knows what became of them, so do not try again
		}
	}()
	answer.stream(w, r, func(tokens int64) (paid bool) {
		if paid = tokens <= left; paid {
			left -= tokens
		}
		return paid
	})
}

// stream sends the answer as server-sent events, as long as its chunks are paid for.
func (answer model) stream(w http.ResponseWriter, r *http.Request, pay func(tokens int64) (paid bool)) {
	w.Header().Set("Content-Type", "text/event-stream")
	stream := http.NewResponseController(w)
	for chunk := range answer(r.Context(), prompt(r)) {
		if !pay(chunk.tokens) {
			return
		}
		fmt.Fprintf(w, "data: %s\n\n", chunk.text)
		if err := stream.Flush(); err != nil {
			return // the client has left
		}
	}
}

// writeUsage sends what is left now, as the last event: the header fields were sent before the answer had cost
// anything.
func writeUsage(w http.ResponseWriter, r *http.Request) {
	if r.Context().Err() != nil {
		return // the client has left
	}
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

// maxTokens is the most that a prepaid answer may cost: what the client asks for, as far as this service allows it.
func maxTokens(r *http.Request) int64 {
	n, err := strconv.ParseInt(r.URL.Query().Get("max_tokens"), 10, 64)
	if err != nil {
		return mostTokens
	}
	return min(max(1, n), mostTokens)
}

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
