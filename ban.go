package httplimit

import (
	"context"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// Ban shuts a client out that goes on although it is refused: whose requests the rule's own limit has refused After
// times Within is refused by the rule For so long, whatever is left of its quota. All processes that share the Store
// refuse it, from their next decision on. At most After of its requests, and those under way then, are refused before
// the ban begins.
//
//	Ban: httplimit.Ban{After: 20, Within: 10 * time.Minute, For: time.Hour}
//
// Retry-After tells when the ban ends, from the refusal on that began it; the rule's field in RateLimit has r=0. What a
// banned client goes on sending neither counts nor makes the ban longer. [Middleware.Peek] and the like show a ban,
// [Middleware.Reset] lifts it, and the strikes that led to it are forgotten with it or when it begins.
//
// A strike is a refusal by the limit of this rule. These are none: refusals by the ban or by other rules, by a limit of
// 0 (a tenant that is suspended is free at once when its limit comes back), for clients outside of Percent, while the
// store is away, and by what a memstore that a flood has filled counts for several keys together. CORS preflights, and
// requests that are counted by NoKey or that share the bucket of ambiguous ones, are never strikes and never banned, so
// that nobody can have others banned by leaving a header out.
//
// A client is banned by its key. Where that is an identity that the client has not proved, such as the name in a login
// attempt, anybody can have its owner banned: ban by the address, or by address and name ([Compose]). Clients that
// share an address share its ban, and behind a proxy that [ClientIP] does not trust all clients do.
//
// While the store is away, nobody is known to be banned. A [Middleware.Reconfigure] keeps strikes and bans, also with
// another After or another limit of the rule. With a new For the bans that stand no longer hold, unless the old one
// comes back in time; with a new Within it is so with the strikes. A rule with a Ban costs its store one counter more
// to ask for each request, and one call more for each refusal that is a strike, two for the one that begins the ban.
// New refuses it with Shadow, with a key that is the same for all clients ([Everyone], a [Route] alone), and on stores
// that have no TokenBucket or no SlidingLog.
type Ban struct {
	After  int64         // 1 to 1000
	Within time.Duration // whole milliseconds, 1 ms to 366 days
	For    time.Duration // likewise
}

const mostStrikes = 1000

// ban is a Ban made ready: two counters for each key that has been refused. Both names have a byte that no rule's name
// has, so that they are nobody else's.
type ban struct {
	scope, strikesScope string
	// limit has room for one unit. A ban is two, so that a charge of cost 0 is refused until one has been refilled.
	limit limiter.Limit
	// strikes has room for all strikes but the one that begins a ban.
	strikes limiter.Limit
}

// compileBan makes the Ban of a rule ready, nil if it has none.
func (r *rule) compileBan(field string, s *settings, f *faults) *ban {
	if r.Ban == (Ban{}) {
		return nil
	}
	before := len(*f)
	r.checkBan(field+".Ban", f)
	if len(*f) > before {
		return nil
	}
	b := &ban{
		scope: r.scope + "\x00ban", strikesScope: r.scope + "\x00strikes",
		limit:   limiter.Limit{Algorithm: limiter.TokenBucket, Requests: 1, Window: r.Ban.For},
		strikes: limiter.Limit{Algorithm: limiter.SlidingLog, Requests: r.Ban.After - 1, Window: r.Ban.Within},
	}
	for _, l := range b.limits() {
		err := r.check(l)
		if err == nil {
			err = s.windows.add(l)
		}
		if err != nil {
			f.add(field+".Ban", "its counters need %v: %v", l.Algorithm, err)
		}
	}
	s.bans = true
	return b
}

// checkBan adds what is wrong with a Ban, whatever the store.
func (r *rule) checkBan(field string, f *faults) {
	if r.Ban.After < 1 || r.Ban.After > mostStrikes {
		f.add(field+".After", "%d is not 1 to %d", r.Ban.After, mostStrikes)
	}
	checkWindow(field+".Within", r.Ban.Within, f)
	checkWindow(field+".For", r.Ban.For, f)
	if r.Shadow {
		f.add(field, "it is set and Shadow too, want one of the two: Shadow refuses nobody")
	}
	if sharedByAll(r.Key) {
		f.add(field, "Key is the same for all clients, who would all be banned together: want one that tells them apart")
	}
}

func checkWindow(field string, d time.Duration, f *faults) {
	if limiter.Per(1, d).Validate() != nil {
		f.add(field, "%v is not whole milliseconds, 1ms to 366 days", d)
	}
}

// sharedByAll reports whether all clients have the same key, or all those that a part of a FirstOf does not find.
func sharedByAll(key Key) bool {
	switch key := key.(type) {
	case everyone, route, routeOf, routeFrom:
		return true
	case secret:
		return sharedByAll(key.of)
	case composed:
		for _, part := range key {
			if !sharedByAll(part) {
				return false
			}
		}
		return len(key) > 0
	case firstOf:
		for _, one := range key {
			if sharedByAll(one) {
				return true
			}
		}
	}
	return false
}

// limits returns the limits of the counters that the ban has.
func (b *ban) limits() []limiter.Limit {
	if b.strikes.Requests == 0 { // the first refusal begins it
		return []limiter.Limit{b.limit}
	}
	return []limiter.Limit{b.limit, b.strikes}
}

// ask returns the charge that is refused while key is banned.
func (b *ban) ask(key string, mode limiter.Mode) limiter.Charge {
	return limiter.Charge{Scope: b.scope, Key: key, Limit: b.limit, Mode: mode}
}

// strike returns the charge of one strike of key. It is in Shadow: so no store remembers that it was refused, when
// another process has forgotten the strikes, and a memstore that is full counts it too low rather than too high.
func (b *ban) strike(key string) limiter.Charge {
	return limiter.Charge{Scope: b.strikesScope, Key: key, Limit: b.strikes, Cost: 1, Mode: limiter.Shadow}
}

// begin returns the batch that bans key and forgets its strikes. It is refused while key is banned, so that of several
// requests the first one begins the ban, which ends For later. What is left of an older ban is given back first.
func (b *ban) begin(key string) []limiter.Charge {
	batch := []limiter.Charge{b.ask(key, limiter.Enforce), b.ask(key, limiter.Enforce), b.ask(key, limiter.Force)}
	batch[1].Cost, batch[2].Cost = -limiter.MaxCount, 2
	if b.strikes.Requests > 0 {
		forget := b.strike(key)
		forget.Cost, forget.Mode = -limiter.MaxCount, limiter.Enforce
		batch = append(batch, forget)
	}
	return batch
}

// counters returns charges for a reset of what is held of key.
func (b *ban) counters(key string) []limiter.Charge {
	all := []limiter.Charge{b.ask(key, limiter.Enforce), b.strike(key)}
	return all[:len(b.limits())]
}

// bannable reports whether the rule number i of d bans the client that asks.
func (d *decision) bannable(i int) bool {
	r := &d.rules[i]
	return r.ban != nil && !r.shadow && r.kind == ownKey && !d.preflight && d.charges[i].Limit.Requests > 0
}

// addBans adds the charges that ask for bans, behind those of the rules.
func (d *decision) addBans() {
	for i := range d.rules {
		r, c := &d.rules[i], &d.charges[i]
		r.banned = false
		if d.bannable(i) {
			d.charges = append(d.charges, r.ban.ask(c.Key, c.Mode))
		}
	}
}

// takeBans removes the charges that ask for bans. If the store has answered them, what it says becomes part of what the
// rules say.
func (d *decision) takeBans(answered bool) {
	bans := d.charges[len(d.rules):]
	d.charges = d.charges[:len(d.rules)]
	for i, next := 0, 0; i < len(d.rules) && next < len(bans); i++ {
		if !d.bannable(i) {
			continue
		}
		if answered && !bans[next].Allowed {
			d.shutOut(i, bans[next].RetryAfter)
			d.rules[i].banned = true
		}
		bans[next].Key = ""
		next++
	}
}

// shutOut has rule number i refuse for that long at least.
func (d *decision) shutOut(i int, wait time.Duration) {
	c := &d.charges[i]
	c.Allowed, c.Remaining = false, 0
	c.RetryAfter, c.ResetAfter = max(c.RetryAfter, wait), max(c.ResetAfter, wait)
	if d.rules[i].violated {
		d.retryAfter = max(d.retryAfter, c.RetryAfter)
	}
}

// strike counts the refusal of a request for the bans of the rules whose own limits have refused it. ctx is that of the
// request without its end.
func (d *decision) strike(ctx context.Context) {
	for i := range d.rules {
		r := &d.rules[i]
		c := &d.charges[i]
		if !r.violated || !d.bannable(i) || r.banned || c.Local || c.Shared {
			continue // also where the store has not counted what the client itself has done
		}
		began := time.Since(d.m.made)
		if err := d.strikeFor(ctx, i); err != nil {
			d.m.logger.warnOnce(r.Name, "a refusal could not be counted for a ban", err)
		}
		d.asked += max(1, time.Since(d.m.made)-began)
	}
}

// strikeFor counts the refusal for the ban of rule number i, which begins if there were enough of them.
func (d *decision) strikeFor(ctx context.Context, i int) error {
	r, key := &d.rules[i], d.charges[i].Key
	if r.ban.strikes.Requests > 0 {
		batch := []limiter.Charge{r.ban.ask(key, limiter.Enforce), r.ban.strike(key)}
		switch taken, err := d.m.askStore(ctx, d.s.store, batch); {
		case err != nil:
			return err
		case !taken: // another process has begun the ban
			d.shutOut(i, batch[0].RetryAfter)
			r.banned = true
			return nil
		case batch[1].Allowed:
			return nil
		}
	}
	batch := r.ban.begin(key)
	taken, err := d.m.askStore(ctx, d.s.store, batch)
	if err != nil {
		return err
	}
	wait := r.ban.limit.Window
	if !taken {
		wait = batch[0].RetryAfter
	}
	d.shutOut(i, wait)
	return nil
}
