// Package kvstore is a [limiter.Store] over any key-value store that can read several counts at once and add to
// one: see [KV]. It runs [limiter.SlidingWindow] and [limiter.FixedWindow].
//
// A KV over bbolt, to copy from, is in the folder e2e/boltkv of the repository.
//
// # How it decides
//
// A counter is one count for each of its windows. A charge reads the previous and the current count, adds its cost
// if it fits, and verifies what the addition returned: its own cost included, the counts must still be within the
// limit. If they are not, because others were faster, it gives the cost back and tries again, a few times. So a
// refused charge spends nothing, and a batch is spent whole or, by giving back, not at all.
//
// Usually that is less: a charge that surely fits by what this process saw last is added and verified without
// reading, and a client that was just refused is answered from memory.
//
// # What holds
//
// While the counts survive in the KV and the clocks of all processes agree within [Config].Skew, a window never
// admits more than its limit and a SlidingWindow never more than its estimate allows, however many callers race.
//
//   - Callers who race may be refused wrongly: one sees what another has added and is about to give back. With one
//     unit a charge and one charge a batch somebody always gets in as long as there is room. Such a refusal is
//     remembered, for a second at most, only if it could not be told from a sure one: the units were another
//     process's, within the limit, and given back because another counter of the batch refused.
//   - A counter whose process dies, or loses the KV, between adding and giving back keeps those units until the
//     window no longer counts. It is stricter by as much as was under way, never laxer.
//   - A KV that loses counts frees their keys: at most the limit more in a window for each loss.
//   - A reset that meets charges under way may free their units twice, once by itself and once as they give back.
//   - A refund or a reset by another process is noticed at once, except by clients that were just refused: for
//     them within a second.
//
// # Time
//
// The clock is this process's: the wall clock, read once in [New], and monotonic from there. Where the clocks of
// two processes differ by more than Skew, the faster one misses what the slower one still adds to the window before:
// at most the limit more at each turn. The same holds for a SlidingWindow shorter than Skew.
package kvstore
