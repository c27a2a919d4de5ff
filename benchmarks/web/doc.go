// Package web compares what limiting adds to a request, as middleware of net/http, Gin, Echo and Fiber.
package web
