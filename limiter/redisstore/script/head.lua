-- Decides batches of charges in order, each on top of those before it, and writes what they spent at the end.
--
-- KEYS   the counters of the batches, batch after batch; a counter of two batches stands twice.
-- ARGV   hint (the latest time that the caller knows of this server), number of shapes, the shapes, runs to the end.
--        A shape is what a batch asks: number of keys, number of charges, and for each charge
--        place of its key in the batch, algorithm, window, requests, capacity, cost, mode, moment to refund to.
--        A run is the number of a shape and how many batches in a row have it.
-- Reply  the server's time, then for each batch 1 (taken) or 0, two numbers for each key, which tell what it held
--        before the batch, and two for each SlidingLog charge: the moment that it waits for, 0 if it fits, and when the
--        newest unit was taken that is left after a refund, else 0. A batch of which a key holds what this script did
--        not write is a single number instead: minus the place of the key.
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
local failure -- of a read, for another reason than the type of a value: then nothing is decided

local function whole(x) return format('%.0f', x) end

local function ceildiv(a, b) return a == 0 and 0 or floor((a - 1) / b) + 1 end

-- The reply of a read command: nil if there is nothing, false if there is something of another type.
local function read(...)
  local reply = pcall(...)
  if type(reply) ~= 'table' or not reply.err then return reply or nil end
  if not find(reply.err, 'WRONGTYPE', 1, true) then failure = reply end
  return false
end
