// Package httplimit limits how often each client may call an HTTP service. It is net/http middleware over a sliding
// window that is counted in memory, in Redis or in memcached:
//
//	limit := httplimit.PerIP(100, time.Minute)
//	http.ListenAndServe(":8080", limit(mux))
//
// A client above its limit gets 429 with an exact Retry-After: after that many seconds (24 days at most) the same
// request passes, if nobody else spends the client's quota. Every answer says where the client stands, in the RateLimit
// fields of draft-ietf-httpapi-ratelimit-headers-11. A refused request costs the client nothing.
//
// [New] takes a [Config] of rules. A [Rule] says who is counted ([Key]), how much each may spend ([limiter.Limit]), and
// what happens while the store is down. All rules of a request are decided in one step, and a request that any of them
// refuses spends nothing of the others.
//
// # What decides whether a limit holds in production
//
// The key. A limit is worth as much as the identity that it counts by. [ClientIP] without arguments is the address of
// the socket peer, which nobody can forge but which is that of the load balancer where there is one: name the load
// balancer's networks, and the address is read from X-Forwarded-For as far as trusted proxies wrote it. Nothing in
// front may copy a header into RemoteAddr, as chi's RealIP does: then clients choose their addresses. A token is an
// identity only after it was verified: limit by address before authentication, by user behind it. Keys of secrets
// ([BearerToken], [APIKey], [Cookie], [Secret]) are stored as hashes.
//
// The store. With one process the in-memory default is exact and needs no round trip. Behind a load balancer each
// process would count for itself, so ten of them admit ten times the limit: use redisstore, which decides in one atomic
// script on the server's clock, or memcachestore. Only Config.Store changes.
//
// The store's bad day. Each rule chooses: count in this process with its share of the limit ([FailLocal], the default),
// let pass ([FailOpen]), or answer 503 ([FailClosed]). A store that is down costs its time-out for a few requests, and
// next to nothing from then on. [Middleware.Health] is for a readiness page.
//
// # Where to put it
//
// From the outside in: recover from panics, log, CORS, limit by address, authenticate, limit by user, mux. A limiter
// outside of CORS answers browsers with errors that their scripts cannot read, and counts their preflights, in counters
// of their own; list [HeaderStyle.Names] in Access-Control-Expose-Headers so that they can read the fields.
// http.TimeoutHandler drops the fields of what it wraps when it answers itself: put the limiter around it. A layer
// outside that ends the request's context, such as a time-out or a shutdown, changes no decision: what the store says
// is carried out, and the handler runs with the context as it is.
//
// # In handlers, and for operators
//
// [Verdicts] and [Spend] are for handlers that show a quota or learn a cost late. [Middleware.Allow] limits by what
// only a handler knows, such as the login name in a body, and [Verdict.Denied] answers what it does not allow;
// [Middleware.Peek], [Middleware.PeekLimit] and [Middleware.Reset] are for the operator who is asked to unblock
// somebody or to lift a [Ban], [Middleware.PeekRequest] for a page that tells users their quota. An [Observer] is told
// what became of every request.
//
// # Frameworks, and how to adapt another one
//
// chi and every router that takes net/http middleware use [Middleware.Handler]. Gin, Echo and Fiber have adapters of
// their own below adapters/. The rest of this package is for authors of adapters: a [Request] goes into
// [Middleware.Check] or [Middleware.CheckHTTP], which decide and write nothing, and the [Outcome] says what to write.
//
// [limiter.Limit]: https://pkg.go.dev/github.com/httplimit/httplimit/limiter#Limit
package httplimit
