
local SLIDING, LOG, FIXED, BUCKET = 0, 1, 2, 3
local ENFORCE, LOOK, FORCE, FORGET = 0, 2, 3, 4 -- FORGET is a reset; no mode of package limiter
local MOST = 2 ^ 30 - 1                         -- where counts saturate

local max, match = math.max, string.match

local function whole(x) return format('%.0f', x) end

-- The keys of the batch under judgement, by their place in it: what they held before it, what it takes and what it
-- gives back. Buckets hold their debt as current.
local keys, stored, packed = {}, {}, {}
local current, previous, spent, back, backprevious = {}, {}, {}, {}, {}
