module github.com/httplimit/httplimit

go 1.25.0
