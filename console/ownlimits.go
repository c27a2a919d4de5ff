package console

import (
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// ownLimits keep the page from costing the service much, whoever looks: a number of pages a second, and far fewer that
// ask the stores. One viewer may use half of that, so that there is something left for the others.
type ownLimits struct{ pages, lookups ownLimit }

// ownLimit is how often all viewers together may ask, and each of them.
type ownLimit struct{ all, each *limiter.Limiter }

// maxKnown bounds the memory for the shares of viewers. More than this at once share what is left of it.
const maxKnown = 1024

func newOwnLimits() (*ownLimits, error) {
	all, err := memstore.New(memstore.Config{MaxKeys: 64})
	if err != nil {
		return nil, err
	}
	each, err := memstore.New(memstore.Config{MaxKeys: 2 * maxKnown}) // apart, so that no crowd crowds out what is for all
	if err != nil {
		return nil, err
	}
	own := &ownLimits{}
	for _, one := range []struct {
		limit     *ownLimit
		scope     string
		perSecond int64
	}{{&own.pages, "pages", 50}, {&own.lookups, "lookups", 10}} {
		if one.limit.all, err = limiter.New(all, one.scope, bucket(one.perSecond)); err != nil {
			return nil, err
		}
		if one.limit.each, err = limiter.New(each, one.scope, bucket(one.perSecond/2)); err != nil {
			return nil, err
		}
	}
	return own, nil
}

// bucket allows so many a second, and four seconds' worth at once.
func bucket(perSecond int64) limiter.Limit {
	return limiter.Limit{
		Algorithm: limiter.TokenBucket, Requests: perSecond, Window: time.Second, Burst: 4 * perSecond,
	}
}

// viewerOf returns whose share of the page's own limits a request takes: that of the operator of that name or, where
// there is none, of the address that the connection comes from. Of an IPv6 address a client has 2^64.
func viewerOf(r *http.Request, operator string) string {
	if operator != "" {
		return "operator " + operator
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return "unknown"
	}
	address := peer.Addr().Unmap()
	if address.Is4() {
		return address.String()
	}
	network, _ := address.Prefix(64) // every IPv6 address has one
	return network.String()
}

// admit answers what is too much.
func (own *ownLimits) admit(w http.ResponseWriter, r *http.Request, viewer string, asks bool) bool {
	limit := &own.pages
	if asks {
		limit = &own.lookups
	}
	what := "You ask this page too often."
	d, err := limit.each.Allow(r.Context(), viewer)
	if err == nil && d.Allowed {
		what = "The operators' page is asked too often, by all who look."
		d, err = limit.all.Allow(r.Context(), "all")
	}
	if err != nil || d.Allowed {
		return err == nil
	}
	wait := max(1, int64((d.RetryAfter+time.Second-1)/time.Second))
	w.Header().Set("Retry-After", strconv.FormatInt(wait, 10))
	answerText(w, http.StatusTooManyRequests, what+" Try again in a second.")
	return false
}
