package web

import (
	"net"
	"net/http"
	"sync"

	"github.com/didip/tollbooth/v8"
	tollboothlimiter "github.com/didip/tollbooth/v8/limiter"
	"github.com/go-chi/httprate"
	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	golimiter "github.com/sethvargo/go-limiter/httplimit"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	throttledstore "github.com/throttled/throttled/v2/store/memstore"
	ulule "github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	ululestore "github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"
)

// ok is the handler behind the middleware.
var ok = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })

func nethttpBare(Setup) (func() Session, error) { return serve(ok), nil }

func nethttpOwn(s Setup) (func() Session, error) {
	m, err := own(s)
	return serve(m.Handler(ok)), err
}

// own is httplimit as all frameworks use it.
func own(s Setup) (*httplimit.Middleware, error) {
	key := httplimit.ClientIP()
	if s.Key.InHeader() {
		key = httplimit.Header(Field)
	}
	return httplimit.New(httplimit.Config{
		Rules:     []httplimit.Rule{{Name: "client", Key: key, Limit: limiter.Per(s.Limit, s.Window)}},
		KeySecret: s.Key.Secret(),
		Headers:   s.Fields,
	})
}

func nethttpHTTPRate(s Setup) (func() Session, error) {
	key := func(r *http.Request) (string, error) {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		return httprate.CanonicalizeIP(host), err
	}
	if s.Key.InHeader() {
		key = headerKey
	}
	return serve(httprate.LimitBy(int(s.Limit), s.Window, key)(ok)), nil
}

func headerKey(r *http.Request) (string, error) { return r.Header.Get(Field), nil }

func nethttpUlule(s Setup) (func() Session, error) {
	m := stdlib.NewMiddleware(ululeLimiter(s))
	if s.Key.InHeader() {
		m.KeyGetter = func(r *http.Request) string { return r.Header.Get(Field) }
	}
	return serve(m.Handler(ok)), nil
}

func ululeLimiter(s Setup) *ulule.Limiter {
	return ulule.New(ululestore.NewStore(), ulule.Rate{Period: s.Window, Limit: s.Limit})
}

func nethttpGoLimiter(s Setup) (func() Session, error) {
	store, err := memorystore.New(&memorystore.Config{Tokens: uint64(s.Limit), Interval: s.Window})
	if err != nil {
		return nil, err
	}
	key := golimiter.IPKeyFunc()
	if s.Key.InHeader() {
		key = headerKey
	}
	m, err := golimiter.NewMiddleware(store, key)
	if err != nil {
		return nil, err
	}
	return serve(m.Handle(ok)), nil
}

func nethttpThrottled(s Setup) (func() Session, error) {
	store, err := throttledstore.NewCtx(0)
	if err != nil {
		return nil, err
	}
	quota := throttled.RateQuota{MaxRate: throttled.PerDuration(int(s.Limit), s.Window), MaxBurst: int(s.Limit) - 1}
	l, err := throttled.NewGCRARateLimiterCtx(store, quota)
	if err != nil {
		return nil, err
	}
	by := &throttled.VaryBy{RemoteAddr: true}
	if s.Key.InHeader() {
		by = &throttled.VaryBy{Headers: []string{Field}}
	}
	return serve((&throttled.HTTPRateLimiterCtx{RateLimiter: l, VaryBy: by}).RateLimit(ok)), nil
}

func nethttpTollbooth(s Setup) (func() Session, error) {
	options := tollboothlimiter.ExpirableOptions{DefaultExpirationTTL: s.Window}
	l := tollbooth.NewLimiter(float64(s.Limit)/s.Window.Seconds(), &options).SetBurst(int(s.Limit))
	l.SetIPLookup(tollboothlimiter.IPLookup{Name: "RemoteAddr"})
	if s.Key.InHeader() {
		l.SetHeader(Field, nil)
	}
	return serve(tollbooth.HTTPMiddleware(l)(ok)), nil
}

// nethttpXTime is what many programs write themselves.
func nethttpXTime(s Setup) (func() Session, error) {
	var mu sync.Mutex
	limiters := make(map[string]*rate.Limiter)
	every := rate.Limit(float64(s.Limit) / s.Window.Seconds())
	return serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get(Field)
		if !s.Key.InHeader() {
			key, _, _ = net.SplitHostPort(r.RemoteAddr)
		}
		mu.Lock()
		l, known := limiters[key]
		if !known {
			l = rate.NewLimiter(every, int(s.Limit))
			limiters[key] = l
		}
		mu.Unlock()
		if !l.Allow() {
			http.Error(w, http.StatusText(http.StatusTooManyRequests), http.StatusTooManyRequests)
			return
		}
		ok(w, r)
	})), nil
}
