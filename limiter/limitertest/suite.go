package limitertest

// testCase checks one clause of the contract, with one store and one algorithm.
type testCase struct {
	name  string
	why   string // why it exists: what a store that fails it does to its users
	moves bool   // it moves the clock and cannot run without Advance
	run   func(*storeTest)
}

func suite() []testCase {
	return []testCase{
		{
			name: "clock", moves: true, run: testClock,
			why: "State.At is the store's clock in Unix milliseconds. Refunds, statistics and this suite rely on it.",
		},
		{
			name: "vectors", moves: true, run: testVectors,
			why: "Worked examples, checked by brute force, some from other limiters' documentation: every store gives the " +
				"same numbers at the same millisecond.",
		},
		{
			name: "retry after", moves: true, run: testRetryAfter,
			why: "A client that waits for exactly RetryAfter must get in, and one millisecond earlier it must not: else " +
				"clients retry in vain or wait for nothing.",
		},
		{
			name: "reset after", moves: true, run: testResetAfter,
			why: "ResetAfter is sent to clients. At that moment the whole quota is free, and not before.",
		},
		{
			name: "idle", moves: true, run: testIdle,
			why: "A client that stays away for long has its whole quota again, however the store expires its counter.",
		},
		{
			name: "any stretch of one window", moves: true, run: testAnyStretch,
			why: "What an adversary gets who knows the boundaries is what the documentation promises: the limit and no more " +
				"of the two exact algorithms, twice the limit of the others.",
		},
		{
			name: "extremes", moves: true, run: testExtremes,
			why: "At the ends of the allowed range products pass 2^53 and 2^63. A store that calculates in doubles or " +
				"overflows is off by some units, or by all.",
		},
		{
			name: "refusal spends nothing", run: testRefusal,
			why: "A client that is refused and tries again must not push its own release further away.",
		},
		{
			name: "no charges", run: testNoCharges,
			why: "A request to which no rule applies is a batch of none: it passes.",
		},
		{
			name: "two limits of one key", run: testTwoLimits,
			why: "A limit a second and a limit a day hold together: what the one refuses, the other must not count.",
		},
		{
			name: "two keys", run: testTwoKeys,
			why: "A limit by address and a limit by account hold together: a client over the one must not use up the other, " +
				"which others may share.",
		},
		{
			name: "one counter twice", run: testOneCounterTwice,
			why: "Two charges of one batch on one counter are both counted. Judged on the same stored value, both would pass " +
				"where one fits.",
		},
		{
			name: "order of a batch", run: testOrder,
			why: "Later charges are judged without those that do not fit, and the Decision of a charge describes its counter " +
				"after that charge, not after the whole batch.",
		},
		{
			name: "refused in a batch", run: testRefusedInBatch,
			why: "A charge refused on top of others in its batch may fit alone. A store that remembers refusals must not " +
				"remember that one.",
		},
		{
			name: "large batch", run: testLargeBatch,
			why: "A batch larger than a store's buffers is still one batch: spent whole or not at all.",
		},
		{
			name: "shadow", run: testShadow,
			why: "A shadow rule refuses no request, and when it would have refused one, the rules in force still count it.",
		},
		{
			name: "peek", run: testPeek,
			why: "Peek returns what the same charge would get, and spends nothing, however often it is repeated.",
		},
		{
			name: "force", run: testForce,
			why: "A cost known only afterwards must be counted even beyond the limit, and later requests pay for it.",
		},
		{
			name: "force saturates", run: testSaturation,
			why: "Counts that wrap around, or memory in proportion to the cost, would turn one huge cost into a free client " +
				"or a dead process.",
		},
		{
			name: "kept out", moves: true, run: testKeptOut,
			why: "A client that is banned must be refused whatever it asks for, until the very millisecond at which the " +
				"ban ends.",
		},
		{
			name: "kept out by many at once", run: testKeptOutAtOnce,
			why: "Requests that are refused at the same moment must begin one ban, which ends when it should, and not one " +
				"each.",
		},
		{
			name: "mixed modes", run: testMixedModes,
			why: "One request is often judged by all modes at once, also on one counter.",
		},
		{
			name: "cost 0", run: testCostZero,
			why: "Cost 0 asks whether the key is over its limit, and spends nothing.",
		},
		{
			name: "cost above capacity", run: testCostAboveCapacity,
			why: "A charge that can never pass gets RetryAfter Never and does no harm to others; a cost of any size overflows " +
				"nothing.",
		},
		{
			name: "limit of 0", run: testZero,
			why: "A tenant is suspended, an address banned: nothing of theirs passes, a request of cost 0 neither, and no " +
				"wait is told that would let it pass.",
		},
		{
			name: "limit of 0 in a batch", run: testZeroInBatch,
			why: "What a limit of 0 refuses spends nothing of the other limits and gives nothing back to them; in shadow it " +
				"is no reason to skip them.",
		},
		{
			name: "limit becomes 0 and comes back", run: testZeroAndBack,
			why: "A client that is suspended and let in again has spent what it had spent before. Refunds and costs known " +
				"only afterwards still arrive meanwhile.",
		},
		{
			name: "limit of 0 over time", moves: true, run: testZeroOverTime,
			why: "Units age while the limit is 0 as at any other time, and nothing divides by it.",
		},
		{
			name: "refund", run: testRefund,
			why: "Refunded units can be spent again, and no more than those: too large a refund is no credit.",
		},
		{
			name: "refund of an unknown key", run: testRefundUnknown,
			why: "A refund to a key that spent nothing must neither give it credit nor keep it in memory as if it had.",
		},
		{
			name: "refund in a batch", run: testRefundInBatch,
			why: "A refund is rolled back with its batch, and takes first what its own batch has spent.",
		},
		{
			name: "refund by state", moves: true, run: testRefundByState,
			why: "A request that is refunded after a window boundary must not free units of the new window, which other " +
				"requests have spent.",
		},
		{
			name: "refund before all ends", moves: true, run: testRefundBeforeAllEnds,
			why: "What a refund leaves ends when it would have ended without it, and Retry-After and reset fields say so.",
		},
		{
			name: "refund without state", moves: true, run: testRefundWithoutState,
			why: "Without State.At a refund goes to the current window and then to the previous one, so that the key gains as " +
				"much as it can.",
		},
		{
			name: "reset", run: testReset,
			why: "A reset of one client frees no other: its key is no prefix and no pattern.",
		},
		{
			name: "reset across windows", moves: true, run: testResetAcrossWindows,
			why: "A reset forgets the previous window too, or the client stays locked out by it.",
		},
		{
			name: "limits change", run: testLimitsChange,
			why: "Plans and settings change while a service runs. What was spent stays spent, also across 2^24, where packed " +
				"counters grow wider.",
		},
		{
			name: "limits change over time", moves: true, run: testLimitsChangeOverTime,
			why: "The previous window was filled under another limit, perhaps with more than 2^24 units, and still counts in " +
				"full.",
		},
		{
			name: "counters are separate", run: testSeparateCounters,
			why: "Scope, Key, Algorithm and Window name a counter together. A store that leaves one out, or joins two of " +
				"them, lets rules and clients use up each other's units.",
		},
		{
			name: "hostile names", run: testHostileNames,
			why: "Keys come from clients. Whatever bytes they hold, a client must neither choose another's counter nor break " +
				"the store.",
		},
		{
			name: "clock goes back", moves: true, run: testClockBack,
			why: "A clock that is set back must not lock a key out until it has caught up, and must not free a key that is " +
				"over its limit.",
		},
		{
			name: "clock goes forward", moves: true, run: testClockForward,
			why: "A clock that is set forward is time that passes: windows that are over no longer count, the others still do.",
		},
		{
			name: "clock goes forward and back", moves: true, run: testClockForwardAndBack,
			why: "What was counted while the clock was ahead must not lock its key out until that time comes.",
		},
		{
			name: "many callers of one key", run: testManyCallers,
			why: "Callers that decide at the same moment must not all see the last free unit.",
		},
		{
			name: "many callers of two keys", run: testManyCallersOfTwoKeys,
			why: "Concurrent batches that share some of their counters lose no unit and add none, whatever their order.",
		},
		{
			name: "many callers at a window boundary", moves: true, run: testManyCallersAtABoundary,
			why: "The first caller of a new window starts its counter anew. Callers at the same moment must not do it again.",
		},
		{
			name: "many callers refunding", run: testManyCallersRefunding,
			why: "Refunds and charges are often concurrent. Neither may overwrite the other.",
		},
		{
			name: "ended context", run: testEndedContext,
			why: "The client has left: nothing is spent for it, and the error says so, because callers must not take it for a " +
				"store that is down.",
		},
		{
			name: "charges used again", run: testChargesUsedAgain,
			why: "Frameworks reuse the memory of a request for the next one. A store that keeps a key's bytes would count one " +
				"client under another's name.",
		},
		{
			name: "abandoned calls", run: testAbandonedCalls,
			why: "A call whose context ends while it waits returns early. Nothing may touch its charges and strings from then " +
				"on (run with -race).",
		},
		{
			name: "unsupported algorithms", run: testUnsupported,
			why: "A store that quietly runs another algorithm than the one asked for gives another limit than the one " +
				"configured.",
		},
		{
			name: "random batches", run: testRandomBatches,
			why: "Batches of every mode, cost and order, compared with the definitions, find what no other case covers.",
		},
		{
			name: "random batches over time", moves: true, run: testRandomBatchesOverTime,
			why: "The same while time passes, by milliseconds and by windows, limits change, and refunds come late.",
		},
	}
}
