// Package console is the page that operators open when somebody calls: who is refused now, by which rule, since when,
// and how to let them in.
//
//	page, err := console.New(console.Config{Viewer: console.LocalOnly})
//	...
//	limits, err := httplimit.New(httplimit.Config{Rules: rules, Observer: page})
//	...
//	page.Watch(limits)
//	mux.Handle("/ops/limits/", page)
//	server.RegisterOnShutdown(page.Close)
//
// It shows what is decided now and what was decided in the last 15 minutes, rule by rule and by whom; the clients that
// are refused most and those nearest to their limits; one client, looked up by the parts of its key, as each rule sees
// it, with a Reset that also lifts a ban; what rules in shadow would refuse; which stores and servers answer; and the
// configuration in force. All of it is of this one process. The same stands in JSON beside the page.
//
// Mount it in front of the limits and behind nothing but your authentication, under any path that ends with a slash,
// also behind a proxy that strips a prefix. docs/console.md has the JSON, and why the page is safe to have.
//
// # What it costs
//
// While nobody looks, nothing runs but the counting, in the goroutines of the requests: about 20 ns for a decision
// that allows, 40 ns for one that refuses, 45 ns in a flood of new keys, and no allocation. A rule takes 100 kB from
// its first request on, and up to 0.9 MB from its first refusal on, whatever the number of keys. At most 512 rules are
// counted; those that nothing came to for 15 minutes give way to others.
//
// # How far its figures go
//
// Counts by rule are exact. Counts by client are those of a sketch of 1,024 keys a rule, which finds every client that
// makes up more than a thousandth or so of what it counts: the page shows the least and the most that the true count
// can be, and the most that a client which is not listed can have. A refusal that comes while another one of the same
// rule is being noted may be left out there; how many were stands beside the list.
package console
