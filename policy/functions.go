package policy

import (
	"context"
	"net/http"
	"net/netip"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/httplimit/httplimit/limiter"
)

// The functions of a rule that come from a policy. Each can say which part of the policy that is: [Describe] calls it
// with a request that no client can send, which holds the Rule to be filled in.

// askMethod is the method of that request. net/http refuses it of a client.
const askMethod = "\x00"

type askKey struct{}

// ask returns the request that has functions of this package tell their part of a rule.
func ask(into *Rule) *http.Request {
	r := &http.Request{Method: askMethod}
	return r.WithContext(context.WithValue(context.Background(), askKey{}, into))
}

// asked returns the Rule to be filled in, nil for all requests of clients.
func asked(r *http.Request) *Rule {
	if r.Method != askMethod {
		return nil
	}
	into, _ := r.Context().Value(askKey{}).(*Rule)
	return into
}

// isOurs reports whether a function was made by this package, so that it knows what [ask] is.
func isOurs(f any) bool {
	return strings.HasPrefix(goName(f), reflect.TypeFor[Policy]().PkgPath()+".")
}

// goName returns the name of a function that is not nil, such as "example.com/shop.isSearch".
func goName(f any) string {
	return strings.TrimSuffix(runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name(), "-fm")
}

// when is what a rule says of the requests that it is for.
type when struct {
	any, all          []func(*http.Request) bool // one of any, if there is one, and each of all
	texts             []Condition                // of any
	onlyFrom, notFrom []netip.Prefix             // of all
}

func (w when) holds(r *http.Request) bool {
	if into := asked(r); into != nil {
		into.When, into.OnlyFrom, into.NotFrom = w.texts, w.onlyFrom, w.notFrom
		return false
	}
	for _, condition := range w.all {
		if !condition(r) {
			return false
		}
	}
	for _, condition := range w.any {
		if condition(r) {
			return true
		}
	}
	return len(w.any) == 0
}

// plans are the limits by plan.
type plans struct {
	limits map[string]limiter.Limit
	usual  limiter.Limit
	plan   func(*http.Request) (string, error)
}

func (p plans) limit(r *http.Request) (limiter.Limit, error) {
	if into := asked(r); into != nil {
		into.Plans = p.limits
		return p.usual, nil
	}
	name, err := p.plan(r)
	if err != nil {
		return limiter.Limit{}, err
	}
	if limit, known := p.limits[name]; known {
		return limit, nil
	}
	return p.usual, nil
}

// constantCost returns a Cost that is the same for each request.
func constantCost(units int64) func(*http.Request) (int64, error) {
	return func(*http.Request) (int64, error) { return units, nil }
}

// countedStatuses returns a CountStatus that counts some.
func countedStatuses(statuses []int) func(int) bool {
	return func(status int) bool { return slices.Contains(statuses, status) }
}
