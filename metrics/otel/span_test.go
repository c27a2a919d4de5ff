package otellimit_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	otellimit "github.com/httplimit/httplimit/metrics/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// spans returns a tracer provider and what its spans were when they ended.
func spans(t *testing.T, options ...trace.TracerProviderOption) (*trace.TracerProvider, *tracetest.SpanRecorder) {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	provider := trace.NewTracerProvider(append(options, trace.WithSpanProcessor(recorder))...)
	t.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	return provider, recorder
}

// TestSpanAttributes: those of the first rule that refused; no span and no event is added, no status set.
func TestSpanAttributes(t *testing.T) {
	observed := func(rule string, r httplimit.Result, s httplimit.Source, wait time.Duration) httplimit.Observed {
		return httplimit.Observed{Result: r, Verdict: httplimit.Verdict{
			Rule: rule, Source: s, Decision: limiter.Decision{RetryAfter: wait},
		}}
	}
	allowed := observed("a", httplimit.ResultAllowed, httplimit.SourceStore, 0)
	unjudged := observed("u", httplimit.ResultUnjudged, httplimit.SourceNone, 0)
	shadow := observed("s", httplimit.ResultShadowRefused, httplimit.SourceStore, time.Minute)
	opened := observed("o", httplimit.ResultOpen, httplimit.SourceNone, 0)
	refused := observed("r", httplimit.ResultRefused, httplimit.SourceCache, 1500*time.Millisecond)
	banned := observed("b", httplimit.ResultBanned, httplimit.SourceStore, time.Hour)
	never := observed("n", httplimit.ResultRefused, httplimit.SourceStore, limiter.Never)
	closed := observed("c", httplimit.ResultClosed, httplimit.SourceNone, 0)
	type rules []httplimit.Observed
	for name, tt := range map[string]struct {
		told []rules
		want string // rule, result, source and wait
	}{
		"nothing":              {[]rules{nil}, ""},
		"allowed":              {[]rules{{allowed}}, "a allowed store"},
		"refused":              {[]rules{{refused}}, "r refused cache 1.5"},
		"the first that did":   {[]rules{{unjudged, allowed, refused, banned}}, "r refused cache 1.5"},
		"banned":               {[]rules{{shadow, banned}}, "b banned store 3600"},
		"never":                {[]rules{{never}}, "n refused store"},
		"closed":               {[]rules{{opened, closed}}, "c closed none"},
		"only in shadow":       {[]rules{{allowed, shadow}}, "s shadow_refused store"},
		"open":                 {[]rules{{allowed, shadow, opened}}, "o open none"},
		"an inner Middleware":  {[]rules{{allowed}, {shadow}}, "s shadow_refused store"},
		"open, then allowed":   {[]rules{{opened}, {shadow}, {allowed}}, "o open none"},
		"open, then refused":   {[]rules{{opened}, {refused}}, "r refused cache 1.5"},
		"refused, then others": {[]rules{{allowed}, {refused}, {banned}, {allowed}}, "r refused cache 1.5"},
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := newObserver(t)
			provider, recorder := spans(t)
			ctx, span := provider.Tracer("test").Start(t.Context(), "request")
			for _, one := range tt.told {
				o.Observe(ctx, &httplimit.Observation{Rules: one})
			}
			span.End()
			ended := recorder.Ended()
			if len(ended) != 1 || len(ended[0].Events()) != 0 || ended[0].Status().Code != codes.Unset {
				t.Fatalf("got %d spans, the first with %v, %v", len(ended), ended[0].Events(), ended[0].Status())
			}
			byKey := make(map[attribute.Key]string)
			for _, kv := range ended[0].Attributes() {
				byKey[kv.Key] = kv.Value.String()
			}
			var got []string
			for _, key := range []attribute.Key{"rule.name", "result", "source", "retry_after"} {
				if value, set := byKey["httplimit."+key]; set {
					got = append(got, value)
				}
			}
			if strings.Join(got, " ") != tt.want || len(byKey) != len(got) {
				t.Errorf("got %v, want %q and no more", byKey, tt.want)
			}
		})
	}
}

// TestSpansThatDoNotRecord are left alone, and so is a request without one.
func TestSpansThatDoNotRecord(t *testing.T) {
	o, _ := newObserver(t)
	provider, recorder := spans(t, trace.WithSampler(trace.NeverSample()))
	ctx, span := provider.Tracer("test").Start(t.Context(), "request")
	h := newMiddleware(t, httplimit.Config{Observer: o, Rules: []httplimit.Rule{perX("a", limiter.PerDay(1))}}).
		Handler(http.HandlerFunc(ok))
	send(ctx, h, "ann")
	send(t.Context(), h, "ann")
	span.End()
	if n := len(recorder.Ended()); n != 0 {
		t.Errorf("%d spans were recorded, want none", n)
	}
}

// TestExemplars: the SDK makes one of a call to a remote store in a span that is sampled.
func TestExemplars(t *testing.T) {
	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	o, err := otellimit.New(otellimit.Config{MeterProvider: provider})
	if err != nil {
		t.Fatal(err)
	}
	tracers, _ := spans(t)
	ctx, span := tracers.Tracer("test").Start(t.Context(), "request")
	rules := []httplimit.Rule{perX("a", limiter.PerDay(2))}
	memory := newMiddleware(t, httplimit.Config{Rules: rules}).Config().Store
	m := newMiddleware(t, httplimit.Config{Observer: o, Store: remote{memory}, Rules: rules})
	send(ctx, m.Handler(http.HandlerFunc(ok)), "ann")
	span.End()
	exemplars := histogram(t, collected(t, reader)["httplimit.store.duration"])["outcome=ok"].Exemplars
	id := span.SpanContext().TraceID()
	if len(exemplars) != 1 || string(exemplars[0].TraceID) != string(id[:]) {
		t.Errorf("got %+v, want one of the trace %v", exemplars, id)
	}
}
