package otellimit

import (
	"context"

	"github.com/httplimit/httplimit"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// callTimes records how long remote stores took.
type callTimes struct {
	histogram  metric.Float64Histogram
	ok, failed []metric.RecordOption // made once: the SDK would make a set of attributes for each call
}

func newCallTimes(h metric.Float64Histogram) *callTimes {
	outcome := func(value string) []metric.RecordOption {
		return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(outcomeKey.String(value)))}
	}
	return &callTimes{histogram: h, ok: outcome("ok"), failed: outcome("error")}
}

// record records one call, with the context of the request: the SDK makes an exemplar of its span.
func (t *callTimes) record(ctx context.Context, o *httplimit.Observation) {
	outcome := t.ok
	if o.StoreFailed() {
		outcome = t.failed
	}
	t.histogram.Record(ctx, o.Store.Seconds(), outcome...)
}
