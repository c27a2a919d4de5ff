package limiter_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

func TestParseLimit(t *testing.T) {
	for _, tc := range []struct {
		text  string
		want  limiter.Limit
		short string // what String writes; "": text
	}{
		{text: "1/ms", want: limiter.Per(1, time.Millisecond)},
		{text: "10/s", want: limiter.PerSecond(10)},
		{text: "100/m", want: limiter.PerMinute(100)},
		{text: "5/15s", want: limiter.Per(5, 15*time.Second)},
		{text: "1000/h", want: limiter.PerHour(1000)},
		{text: "1000000000/366d", want: limiter.Per(1_000_000_000, year)},
		{text: "5/60s", want: limiter.PerMinute(5), short: "5/m"},
		{text: "5/1000ms", want: limiter.PerSecond(5), short: "5/s"},
		{text: "5/1m", want: limiter.PerMinute(5), short: "5/m"},
		{text: "5/1440m", want: limiter.PerDay(5), short: "5/d"},
		{text: "5/90m", want: limiter.Per(5, 90*time.Minute)},
		{text: "5/86400001ms", want: limiter.Per(5, day+time.Millisecond)},
		{text: "007/05s", want: limiter.Per(7, 5*time.Second), short: "7/5s"},
		{text: "100/m sliding-window", want: limiter.PerMinute(100), short: "100/m"},
		{text: "10/h sliding-log", want: limiter.Limit{Requests: 10, Window: time.Hour, Algorithm: limiter.SlidingLog}},
		{text: "10/2d fixed-window", want: limiter.Limit{Requests: 10, Window: 2 * day, Algorithm: limiter.FixedWindow}},
		{text: "0/m", want: limiter.PerMinute(0)},
		{text: "00/60s", want: limiter.PerMinute(0), short: "0/m"},
		{text: "0/h sliding-log", want: limiter.Limit{Window: time.Hour, Algorithm: limiter.SlidingLog}},
		{text: "0/15s token-bucket", want: limiter.Limit{Window: 15 * time.Second, Algorithm: limiter.TokenBucket}},
		{text: "100/m strict-window", want: limiter.Limit{Requests: 100, Window: time.Minute,
			Algorithm: limiter.StrictWindow}},
		{text: "20/s token-bucket", want: limiter.Limit{Requests: 20, Window: time.Second, Algorithm: limiter.TokenBucket}},
		{text: "20/s token-bucket burst=40", want: limiter.Limit{Requests: 20, Window: time.Second,
			Algorithm: limiter.TokenBucket, Burst: 40}},
	} {
		t.Run(tc.text, func(t *testing.T) {
			got, err := limiter.ParseLimit(tc.text)
			if err != nil || got != tc.want {
				t.Fatalf("ParseLimit: %+v, %v, want %+v, nil", got, err, tc.want)
			}
			want := tc.short
			if want == "" {
				want = tc.text
			}
			if text := got.String(); text != want {
				t.Errorf("String: %q, want %q", text, want)
			}
			marshaled, err := got.MarshalText()
			if err != nil || string(marshaled) != want {
				t.Errorf("MarshalText: %q, %v, want %q, nil", marshaled, err, want)
			}
			var back limiter.Limit
			if err := back.UnmarshalText(marshaled); err != nil || back != tc.want {
				t.Errorf("UnmarshalText: %+v, %v, want %+v, nil", back, err, tc.want)
			}
		})
	}
}

func TestParseLimitRefuses(t *testing.T) {
	for _, tc := range []struct{ name, text, says string }{
		{"empty", "", "want N/[N]unit"},
		{"no slash", "100", "want N/[N]unit"},
		{"no number", "/m", "want N/[N]unit"},
		{"no unit", "5/", `unknown unit ""`},
		{"number for a unit", "5/5", `unknown unit ""`},
		{"unknown unit", "5/y", `unknown unit "y"`},
		{"long unit", "5/min", `unknown unit "min"`},
		{"upper case", "5/M", `unknown unit "M"`},
		{"upper case algorithm", "5/m Fixed-Window", `unknown algorithm "Fixed-Window"`},
		{"algorithm of another name", "5/m leaky-bucket",
			"there are sliding-window, sliding-log, fixed-window, token-bucket, strict-window: want N/[N]unit"},
		{"plus", "+5/m", `"+5" is no decimal number`},
		{"minus", "-5/m", `"-5" is no decimal number`},
		{"minus in the window", "5/-1m", `unknown unit "-1m"`},
		{"fraction", "1.5/m", `"1.5" is no decimal number`},
		{"fraction of a window", "5/1.5h", `unknown unit ".5h"`},
		{"underscore", "1_000/m", `"1_000" is no decimal number`},
		{"hexadecimal", "0x10/m", `"0x10" is no decimal number`},
		{"other digits", "٣/m", "is no decimal number"},
		{"space before", " 5/m", "want N/[N]unit"},
		{"space behind", "5/m ", `unknown algorithm ""`},
		{"two spaces", "5/m  fixed-window", `unknown algorithm ""`},
		{"spaces around the slash", "5 / m", "want N/[N]unit"},
		{"tab", "5/m\tfixed-window", "unknown unit"},
		{"newline", "5/m\n", "unknown unit"},
		{"two algorithms", "5/m fixed-window sliding-log", "want N/[N]unit"},
		{"words behind", "20/s token-bucket burst=40 more", "is no decimal number"},
		{"burst first", "20/s burst=40 token-bucket", "is no decimal number"},
		{"burst without a number", "20/s token-bucket burst=", "want N/[N]unit"},
		{"burst of 0", "20/s token-bucket burst=0", "burst=0 says nothing"},
		{"burst without a bucket", "20/s burst=40", "Burst is 40, want 0"},
		{"burst of a limit of 0", "0/s token-bucket burst=5", "Burst is 5, want 0"},
		{"window of 0", "5/0s", "Window is 0s"},
		{"too many requests", "1000000001/s", "Requests is 1000000001"},
		{"number beyond 64 bits", "99999999999999999999/s", "too large a number"},
		{"window beyond 64 bits", "5/99999999999999999999d", "too large a number"},
		{"window that overflows", "5/213503982334602d", "longer than 366 days"},
		{"long window", "5/367d", "longer than 366 days"},
		{"too large a log", "100001/s sliding-log", "Requests is 100001"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := limiter.ParseLimit(tc.text)
			if err == nil || got != (limiter.Limit{}) {
				t.Fatalf("ParseLimit(%q): %+v, %v, want the zero Limit and an error", tc.text, got, err)
			}
			if !strings.HasPrefix(err.Error(), "limiter: cannot ") || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("ParseLimit(%q): %q, want %q in it", tc.text, err, tc.says)
			}
		})
	}
}

func TestParseLimitClipsWhatItQuotes(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	for _, text := range []string{strings.Repeat("9", 1<<16), "5/" + long, "5/m " + long} {
		if _, err := limiter.ParseLimit(text); err == nil || len(err.Error()) > 1024 {
			t.Errorf("error on %d bytes: %.100v..., want a short one", len(text), err)
		}
	}
}

func TestTextOfInvalidLimits(t *testing.T) {
	for _, l := range []limiter.Limit{{}, limiter.Per(5, time.Microsecond),
		{Requests: 5, Window: time.Second, Algorithm: 9}} {
		if text, err := l.MarshalText(); err == nil || text != nil {
			t.Errorf("MarshalText of %+v: %q, %v, want nil and an error", l, text, err)
		}
		if got := l.String(); got == "" {
			t.Errorf("String of %+v is empty, want something for a message", l)
		}
	}
	before := limiter.PerMinute(5)
	l := before
	if err := l.UnmarshalText([]byte("nonsense")); err == nil || l != before {
		t.Errorf("UnmarshalText of nonsense: %v and %+v, want an error and %+v", err, l, before)
	}
}

func TestLimitInJSON(t *testing.T) {
	type plan struct {
		Name  string                   `json:"name"`
		Limit limiter.Limit            `json:"limit"`
		More  map[string]limiter.Limit `json:"more,omitempty"`
	}
	want := plan{"gold", limiter.PerMinute(600),
		map[string]limiter.Limit{"search": {Requests: 20, Window: time.Second, Algorithm: limiter.TokenBucket, Burst: 40}}}
	const text = `{"name":"gold","limit":"600/m","more":{"search":"20/s token-bucket burst=40"}}`

	raw, err := json.Marshal(want)
	if err != nil || string(raw) != text {
		t.Errorf("Marshal: %s, %v, want %s, nil", raw, err, text)
	}
	var got plan
	if err := json.Unmarshal([]byte(text), &got); err != nil || got.Limit != want.Limit ||
		got.More["search"] != want.More["search"] {
		t.Errorf("Unmarshal: %+v, %v, want %+v, nil", got, err, want)
	}
	if _, err := json.Marshal(plan{}); err == nil {
		t.Error("Marshal of a plan without a limit: nil, want an error")
	}
}

func FuzzParseLimit(f *testing.F) {
	for _, seed := range []string{"100/m", "5/15s", "20/s token-bucket burst=40", "10/h sliding-log",
		"1/366d fixed-window", "007/60s", "5/ms ", "0/m", "0/s token-bucket burst=1", "1e9/s", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := limiter.ParseLimit(text)
		if err != nil {
			if l != (limiter.Limit{}) {
				t.Errorf("%q: %+v beside the error %v, want the zero Limit", text, l, err)
			}
			return
		}
		if err := l.Validate(); err != nil {
			t.Errorf("%q: is parsed as %+v, which is invalid: %v", text, l, err)
		}
		short := l.String()
		if again, err := limiter.ParseLimit(short); err != nil || again != l {
			t.Errorf("%q is %+v, written as %q, read back as %+v, %v", text, l, short, again, err)
		}
		if len(short) > len(text) {
			t.Errorf("%q is written longer: %q", text, short)
		}
	})
}
