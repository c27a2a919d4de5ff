-- Decides batches of charges in order. Each is spent, or refused, before the next is read.
--
-- KEYS   the counters of the batches, batch after batch; a counter of two batches stands twice.
-- ARGV   hint (the latest time that the caller knows of this server), number of shapes, the shapes, runs to the end.
--        A shape is what a batch asks: number of keys, number of charges, and for each charge
--        place of its key in the batch, algorithm, window, requests, capacity, cost, mode, moment to refund to.
--        A run is the number of a shape and how many batches in a row have it.
-- Reply  the server's time, then for each batch 1 (taken) or 0, two numbers for each key, which tell what it held
--        before the batch, and two for each SlidingLog charge: the moment that it waits for, 0 if it fits, and when the
--        newest unit was taken that is left after a refund, else 0. A batch of which a key cannot be read is two values
--        instead: minus the place of the key, and the error, empty if the key holds what this script did not write.
--
-- Algorithms and modes are numbered as in package limiter, whose arithmetic this is, in doubles: every value on the
-- way is a whole number that a double holds. Numbers for redis.call are written by string.format, because some
-- servers turn large ones into exponents.

local SLIDING, LOG, FIXED, BUCKET = 0, 1, 2, 3
local ENFORCE, LOOK, FORCE, FORGET = 0, 2, 3, 4 -- FORGET is a reset; no mode of package limiter
local EXACT = 2 ^ 53    -- whole numbers below are exact
local MOST = 2 ^ 30 - 1 -- where counts saturate

local floor, min, max, format, find, match = math.floor, math.min, math.max, string.format, string.find, string.match
local call, pcall = redis.call, redis.pcall

local time = call('TIME')
local now = time[1] * 1000 + floor(time[2] / 1000)
local hint = tonumber(ARGV[1])

local reply, replies = {now}, 1

local function whole(x) return format('%.0f', x) end
