// Package kvstore is a [limiter.Store] over any key-value store that can read several counts at once and add to
// one: see [KV]. It runs [limiter.SlidingWindow] and [limiter.FixedWindow].
//
// A KV over bbolt, to copy from, is in the folder e2e/boltkv of the repository.
//
// # How it decides
//
// A counter has one count for each of its windows. A charge is decided in four steps: the store
//
//   - reads the counts of the previous and the current window, and refuses the charge if its cost does not fit;
//   - adds the cost to the current count;
//   - verifies the sum that the addition returned: with the cost included, the counts must be within the limit;
//   - compensates if they are not, because other callers were faster: it subtracts the cost and starts over, up to
//     three times in all.
//
// So a refused charge spends nothing, and a batch is spent whole or, by compensating, not at all.
//
// Callers who ask for one counter at the same moment share these steps: one flight judges all of them in order, each
// on top of those before it, and adds what they spend together. A thousand requests of one client at once cost a few
// calls, and other clients' requests do not wait for them. Who comes while a flight is under way waits for its end, or
// for a quarter of [Config].Timeout, whichever is first. A batch of several counters joins the flight of the first of
// them that has one.
//
// Usually fewer steps are needed: a charge that surely fits by the counts that this process saw last is added and
// verified without reading, and a client that was just refused is answered from memory.
//
// # Guarantees
//
// While the KV keeps its counts and the clocks of all processes agree within [Config].Skew, a window never admits more
// than its limit and a SlidingWindow never more than its estimate allows, however many callers race.
//
//   - Processes that race may be refused wrongly: one sees units that another has added and is about to subtract. With
//     one unit a charge and one charge a batch, one of them is always admitted while units are left. Such a refusal
//     is remembered, for a second at most, only if it looked like a correct one: the units were another process's,
//     within the limit, and subtracted because another counter of the batch refused.
//   - If a process dies, or loses the KV, between adding and compensating, its units stay counted until the window
//     has passed. The limit is stricter by these units, never laxer.
//   - A KV that loses counts frees their keys: at most the limit more in a window for each loss.
//   - A reset during a charge may free the units of the charge twice, once by itself and once by compensating.
//   - A refund or a reset by another process is noticed at once, except for clients that were just refused: for
//     them within a second.
//
// # Errors
//
// A KV may write what it was asked for into its errors, and errors reach logs. So no error of a Store shows a key:
// where the text of a KV's error names one, in clear or escaped, its type stands for it, with what it wraps of the
// errors of context, io, net, os and syscall. Other texts are cut after 300 bytes. [errors.Is] and [errors.As] find
// what the KV returned; [errors.Unwrap] does not.
//
// # Connections
//
// A KV that keeps connections idle implements [Reconnector] if it can drop them, unless its client notices by itself
// that one went silent. A thousand silent connections then cost the few calls that open the breaker, and not a call and
// a pause of up to a second each.
//
// # Time
//
// The clock is this process's: the wall clock, read once in [New], and monotonic from there. If the clocks of two
// processes differ by more than Skew, the faster one misses what the slower one still adds to the previous window:
// at most the limit more at each window boundary. The same holds for a SlidingWindow shorter than Skew.
package kvstore
