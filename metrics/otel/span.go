package otellimit

import (
	"context"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// annotate sets the attributes of the span of a request, if it records: those of the first rule that refused it, else
// of the one that says most.
func annotate(ctx context.Context, rules []httplimit.Observed) {
	if len(rules) == 0 {
		return
	}
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	first := &rules[0]
	for i := range rules[1:] {
		if one := &rules[i+1]; weight(one.Result) > weight(first.Result) {
			first = one
		}
	}
	if before := told(span); before == refusal || before > weight(first.Result) {
		return
	}
	attributes := []attribute.KeyValue{
		ruleKey.String(first.Rule), resultKey.String(first.Result.String()), sourceKey.String(first.Source.String()),
	}
	if wait := first.RetryAfter; refuses(first.Result) && wait > 0 && wait < limiter.Never {
		attributes = append(attributes, retryAfterKey.Float64(wait.Seconds()))
	}
	span.SetAttributes(attributes...)
}

// told returns the weight of the result that the span tells of already, by another Middleware or an Allow before; 0 if
// it tells of none. Only the spans of SDKs that let their attributes be read can say so.
func told(span trace.Span) int {
	readable, can := span.(interface{ Attributes() []attribute.KeyValue })
	if !can {
		return 0
	}
	for _, kv := range readable.Attributes() {
		var r httplimit.Result
		if kv.Key == resultKey && r.UnmarshalText([]byte(kv.Value.AsString())) == nil {
			return weight(r)
		}
	}
	return 0
}

// refuses reports whether a request with this result of a rule was refused.
func refuses(r httplimit.Result) bool { return weight(r) == refusal }

const refusal = 4

// weight says which result of several tells most about a request.
func weight(r httplimit.Result) int {
	switch r {
	case httplimit.ResultRefused, httplimit.ResultBanned, httplimit.ResultClosed:
		return refusal
	case httplimit.ResultOpen:
		return 3
	case httplimit.ResultShadowRefused:
		return 2
	case httplimit.ResultAllowed:
		return 1
	}
	return 0
}
