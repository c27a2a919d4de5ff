module github.com/httplimit/httplimit

go 1.25.0

require github.com/felixge/httpsnoop v1.1.0 // indirect
