module github.com/httplimit/httplimit/e2e

go 1.25.0

require (
	github.com/go-chi/chi/v5 v5.2.1
	github.com/hashicorp/go-retryablehttp v0.7.8
	github.com/httplimit/httplimit v0.0.0
)

require (
	github.com/felixge/httpsnoop v1.1.0 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
)

replace github.com/httplimit/httplimit => ..
