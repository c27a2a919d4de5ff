package main

import (
	"bufio"
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit/examples/internal/send"
)

func newTestHandler(t *testing.T, answer model) http.Handler {
	t.Helper()
	h, err := newHandler(answer)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func complete(ctx context.Context, h http.Handler, prompt string) *httptest.ResponseRecorder {
	return ask(ctx, h, "/complete?prompt="+url.QueryEscape(prompt))
}

func ask(ctx context.Context, h http.Handler, path string) *httptest.ResponseRecorder {
	return send.To(h, httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
}

func TestAnswersSpendWhatTheyTurnOutToCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestHandler(t, parrot{times: 12}.answer)
		const five = "why is the sky blue"

		w := complete(t.Context(), h, five)
		if got, want := w.Header().Get("RateLimit"), `"tokens";r=95;t=3`; got != want {
			t.Errorf("before the answer: got %s, want %s", got, want)
		}
		checkEvents(t, w, 12, `{"full_in":"39s","left":35,"rule":"tokens","spent":65}`)

		// 35 are left, and the prompt costs 5: the answer is finished all the same.
		checkEvents(t, complete(t.Context(), h, five), 12, `{"full_in":"1m18s","left":0,"rule":"tokens","spent":65}`)

		// 130 of 100 are spent. The next prompt waits until 35 of them have come back.
		w = complete(t.Context(), h, five)
		if got := w.Header().Get("Retry-After"); w.Code != http.StatusTooManyRequests || got != "21" {
			t.Fatalf("in debt: got %d, Retry-After %q, want 429 and 21", w.Code, got)
		}
		time.Sleep(21*time.Second - time.Millisecond)
		if got := complete(t.Context(), h, five).Code; got != http.StatusTooManyRequests {
			t.Errorf("a millisecond before: got %d, want 429", got)
		}
		time.Sleep(time.Millisecond)
		checkEvents(t, complete(t.Context(), h, five), 12, `{"full_in":"1m36s","left":0,"rule":"tokens","spent":65}`)
	})
}

// checkEvents wants an answer of n chunks and the usage after it.
func checkEvents(t *testing.T, w *httptest.ResponseRecorder, n int, usage string) {
	t.Helper()
	want := strings.Repeat("data: why is the sky blue\n\n", n) + "event: usage\ndata: " + usage + "\n\n"
	if got := w.Body.String(); got != want || w.Code != http.StatusOK {
		t.Errorf("got %d\n%s\nwant 200\n%s", w.Code, got, want)
	}
}

func TestPromptThatNeverFits(t *testing.T) {
	h := newTestHandler(t, parrot{}.answer)
	w := complete(t.Context(), h, strings.Repeat("word ", 101))
	if w.Code != http.StatusTooManyRequests || len(w.Header()["Retry-After"]) != 0 {
		t.Errorf("got %d, Retry-After %q, want 429 and none", w.Code, w.Header()["Retry-After"])
	}
}

func TestHangingUpPaysForWhatWasWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, hangUp := context.WithCancel(t.Context())
		h := newTestHandler(t, func(ctx context.Context, prompt string) iter.Seq[chunk] {
			return func(yield func(chunk) bool) {
				for range 3 {
					yield(chunk{"three small tokens", 3})
				}
				hangUp()
			}
		})
		w := complete(ctx, h, "hello")
		if strings.Contains(w.Body.String(), "usage") {
			t.Errorf("got %s, want no usage for a client that has left", w.Body)
		}
		if got, want := complete(t.Context(), h, "hello").Header().Get("RateLimit"), `"tokens";r=89;t=7`; got != want {
			t.Errorf("after 1 + 9, and 1 for this request: got %s, want %s", got, want)
		}
	})
}

func TestAnswersAtOnceAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestHandler(t, parrot{times: 4}.answer)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { complete(t.Context(), h, "two words") })
		}
		all.Wait()
		if got, want := complete(t.Context(), h, "x").Header().Get("RateLimit"), `"tokens";r=19;t=49`; got != want {
			t.Errorf("after 8 x 10, and 1 for this request: got %s, want %s", got, want)
		}
	})
}

func TestChunksAreSentAtOnce(t *testing.T) {
	goOn := make(chan struct{})
	server := httptest.NewServer(newTestHandler(t, func(context.Context, string) iter.Seq[chunk] {
		return func(yield func(chunk) bool) {
			yield(chunk{"first", 1})
			<-goOn
			yield(chunk{"second", 1})
		}
	}))
	defer server.Close()
	answer, err := server.Client().Get(server.URL + "/complete?prompt=x")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	if !lines.Scan() || lines.Text() != "data: first" {
		t.Errorf("got %q, want data: first, while the model still thinks", lines.Text())
	}
	close(goOn)
	rest := ""
	for lines.Scan() {
		rest += lines.Text() + "\n"
	}
	if !strings.HasPrefix(rest, "\ndata: second\n\nevent: usage\n") {
		t.Errorf("then: got %q, want the second chunk and the usage", rest)
	}
}

func TestPrepaidAnswersGiveBackWhatTheyDidNotUse(t *testing.T) {
	const five = "/prepaid?prompt=why+is+the+sky+blue"
	for name, tt := range map[string]struct {
		times  int // how often the model says five tokens
		query  string
		chunks int
		usage  string
	}{
		"shorter than it might be":    {4, "", 4, `{"full_in":"15s","left":75,"rule":"tokens","spent":25}`},
		"ended where it was paid for": {50, "&max_tokens=12", 2, `{"full_in":"9s","left":85,"rule":"tokens","spent":15}`},
		"more than is allowed":        {50, "&max_tokens=9999", 12, `{"full_in":"39s","left":35,"rule":"tokens","spent":65}`},
		"less than nothing":           {50, "&max_tokens=-9999", 0, `{"full_in":"3s","left":95,"rule":"tokens","spent":5}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newTestHandler(t, parrot{times: tt.times}.answer)
				checkEvents(t, ask(t.Context(), h, five+tt.query), tt.chunks, tt.usage)
			})
		})
	}
}

// One stream of up to 62 tokens fits into 100, and the others are refused while it runs: paid afterwards, all 20 would
// pass.
func TestPrepaidAnswersAtOnceHoldTheLimit(t *testing.T) {
	for path, want := range map[string]int64{"/prepaid?prompt=two+words": 1, "/complete?prompt=two+words": 20} {
		synctest.Test(t, func(t *testing.T) {
			h := newTestHandler(t, parrot{times: 5, pace: time.Second}.answer)
			var passed atomic.Int64
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					if ask(t.Context(), h, path).Code == http.StatusOK {
						passed.Add(1)
					}
				})
			}
			all.Wait()
			if got := passed.Load(); got != want {
				t.Errorf("%s: got %d answers at once, want %d", path, got, want)
			}
		})
	}
}

func TestPrepaidAnswersGiveBackWhateverHappens(t *testing.T) {
	for name, end := range map[string]func(hangUp func()){
		"the client hangs up": func(hangUp func()) { hangUp() },
		"the model panics":    func(func()) { panic("no memory") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, hangUp := context.WithCancel(t.Context())
				defer hangUp()
				h := newTestHandler(t, func(_ context.Context, prompt string) iter.Seq[chunk] {
					return func(yield func(chunk) bool) {
						if prompt == "hello" {
							yield(chunk{"three small tokens", 3})
							end(hangUp)
						}
					}
				})
				func() {
					defer func() { _ = recover() }()
					if w := ask(ctx, h, "/prepaid?prompt=hello"); strings.Contains(w.Body.String(), "usage") {
						t.Errorf("got %s, want no usage for a client that has left", w.Body)
					}
				}()
				if got, want := complete(t.Context(), h, "again").Header().Get("RateLimit"), `"tokens";r=95;t=3`; got != want {
					t.Errorf("after 1 + 3, and 1 for this request: got %s, want %s", got, want)
				}
			})
		})
	}
}
