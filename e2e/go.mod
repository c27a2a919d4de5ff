module github.com/httplimit/httplimit/e2e

go 1.25.0
