module github.com/httplimit/httplimit/examples/observed

go 1.25.0

replace (
	github.com/httplimit/httplimit => ../..
	github.com/httplimit/httplimit/limiter/redisstore => ../../limiter/redisstore
	github.com/httplimit/httplimit/metrics/otel => ../../metrics/otel
	github.com/httplimit/httplimit/metrics/prometheus => ../../metrics/prometheus
)

require (
	github.com/httplimit/httplimit v0.0.0
	github.com/httplimit/httplimit/limiter/redisstore v0.0.0
	github.com/httplimit/httplimit/metrics/otel v0.0.0
	github.com/httplimit/httplimit/metrics/prometheus v0.0.0
	github.com/prometheus/client_golang v1.24.1
	github.com/redis/go-redis/v9 v9.19.0
	go.opentelemetry.io/otel/exporters/stdout/stdouttrace v1.46.0
	go.opentelemetry.io/otel/sdk v1.46.0
)

require (
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/prometheus/client_model v0.6.2 // indirect
	github.com/prometheus/common v0.70.1 // indirect
	github.com/prometheus/procfs v0.21.1 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel v1.46.0 // indirect
	go.opentelemetry.io/otel/metric v1.46.0 // indirect
	go.opentelemetry.io/otel/trace v1.46.0 // indirect
	go.uber.org/atomic v1.11.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)
