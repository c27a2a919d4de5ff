-- Decides batches of charges in order. Each is spent, or refused, before the next is read.
--
-- KEYS   the counters of the batches, batch after batch; a counter of two batches stands twice.
-- ARGV   hint (the latest time that the caller knows of this server), then runs of batches that ask the same, each
--        as how many they are and what they ask. The usual batch, one enforced charge on one window:
--        0, kind, window, requests, cost. All others: number of keys, number of charges, and for each charge
--        place of its key in the batch, kind, window, requests, capacity, cost, mode, moment to refund to.
-- Reply  the server's time, then for each batch either the one number that the usual way gives (main.lua) or
--        1 (taken) or 0, two numbers for each key, which tell what it held before the batch, and two for each charge
--        of a log: the moment that it waits for, 0 if it fits, and when the newest unit was taken that is left after a
--        refund, else 0. A batch of which a key cannot be read is two values: minus the place of the key, and the
--        error, empty if the key holds what this script did not write.
--
-- Kinds and modes are numbered as in package limiter, whose arithmetic this is, in doubles: every value on the way is
-- a whole number that a double holds. Numbers for redis.call are written by string.format, because some servers turn
-- large ones into exponents.

local floor, min, find, format = math.floor, math.min, string.find, string.format
local call, pcall, tonumber = redis.call, redis.pcall, tonumber
local names, args = KEYS, ARGV -- globals are tables in which Lua looks

local time = call('TIME')
local now = time[1] * 1000 + floor(time[2] / 1000)
local hint = tonumber(args[1])
local reply, replies = {now}, 1

-- Windows are stored as one whole number, (tag * 2^24 + previous) * 2^24 + current, where the tag is the number of the
-- window modulo 32 (5 + 24 + 24 bits are 53), or where a count needs more bits as the text number:previous:current.
-- A key ends with the window after its own. So one that has longer to live than two windows is from the future: the
-- server's clock went back.
local FIELD, COUNTS, TAGS = 2 ^ 24, 2 ^ 48, 32
local EXACT = 2 ^ 53 -- whole numbers below are exact

-- floor(p * r / w) for p < 2^30 and r <= w < 2^35: a long division in two limbs where p * r is too large.
local function scaled(p, r, w)
  if p * r < EXACT then return floor(p * r / w) end
  local high = floor(p / 32768) * r
  return floor(high / w) * 32768 + floor((high % w * 32768 + p % 32768 * r) / w)
end
