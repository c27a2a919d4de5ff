package otellimit

import (
	"math"

	"go.opentelemetry.io/otel/attribute"
)

// The keys of attributes.
const (
	namespaceKey  = attribute.Key("httplimit.namespace")
	ruleKey       = attribute.Key("httplimit.rule.name")
	resultKey     = attribute.Key("httplimit.result")
	sourceKey     = attribute.Key("httplimit.source")
	retryAfterKey = attribute.Key("httplimit.retry_after") // seconds; on spans only
	limitKey      = attribute.Key("httplimit.limit")
	policyKey     = attribute.Key("httplimit.policy")
	outcomeKey    = attribute.Key("httplimit.outcome")
	storeKey      = attribute.Key("httplimit.store")
	serverKey     = attribute.Key("httplimit.server")
)

// whole returns a count as OpenTelemetry takes it.
func whole(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
