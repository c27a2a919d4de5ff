module github.com/httplimit/httplimit/cmd/httplimit

go 1.25.0

replace github.com/httplimit/httplimit => ../..

require github.com/httplimit/httplimit v0.0.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/klauspost/compress v1.17.9
)

require go.yaml.in/yaml/v3 v3.0.4
