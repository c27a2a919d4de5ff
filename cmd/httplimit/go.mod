module github.com/httplimit/httplimit/cmd/httplimit

go 1.25.0

replace github.com/httplimit/httplimit => ../..

require github.com/httplimit/httplimit v0.0.0
