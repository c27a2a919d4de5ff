module github.com/httplimit/httplimit/adapters/echo5

go 1.25.0

replace github.com/httplimit/httplimit => ../..

require (
	github.com/httplimit/httplimit v0.0.0
	github.com/labstack/echo/v5 v5.3.1
)

require golang.org/x/time v0.15.0 // indirect
