-- Decides batches of one enforced charge on one window each, which most batches are. protocol.go describes KEYS, ARGV
-- and the reply; requests is below 2^24 and cost from 1 to requests.
--
-- It decides keys that are new, of this window, or of the window before. It answers -1, and leaves the key alone,
-- where only general.lua can tell what the key holds: counts in the wide form, counters from the future, and values
-- that neither script wrote. A batch whose write the server denies is answered -2; refusals only read, and stand.
--
-- A script cannot load another, so the layout of a counter's word, what its tag says and the long division stand in
-- both files: change them together.

local floor, min = math.floor, math.min
local find, format = string.find, string.format
local call, pcall, tonumber = redis.call, redis.pcall, tonumber
local names, args = KEYS, ARGV -- a local costs less than a global

local FIELD, COUNTS, TAGS = 2 ^ 24, 2 ^ 48, 32 -- see "Windows" in general.lua
local EXACT = 2 ^ 53                           -- whole numbers below are exact
local SLIDING, UNDECIDED, DENIED = '0', -1, -2

local time = call('TIME')
local now = time[1] * 1000 + floor(time[2] / 1000)
local hint = tonumber(args[1])
local reply, replies = {now}, 1
local denial -- the error by which the server denied a write

-- Returns floor(p * r / w) for p < 2^30 and r <= w < 2^35: a long division in two limbs where p * r is too large.
local function scaled(p, r, w)
  if p * r < EXACT then return floor(p * r / w) end
  local high = floor(p / 32768) * r
  return floor(high / w) * 32768 + floor((high % w * 32768 + p % 32768 * r) / w)
end

-- Returns the error if the server denies writes of any key, as it is full, a replica, or cannot replicate or save.
-- Other errors are about what the key holds. denials in protocol.go are the same words.
local function denies(result)
  local text = type(result) == 'table' and result.err
  local denied = text and (find(text, 'OOM ', 1, true) or find(text, 'READONLY ', 1, true)
    or find(text, 'NOREPLICAS ', 1, true) or find(text, 'MISCONF ', 1, true))
  return denied and text
end

-- Returns what a key holds in this window whose tag is of another, or may be, and whether it was written in the window
-- before. Returns nil if only general.lua can tell.
local function older(key, value, kind, number, window)
  if type(value) ~= 'string' or not find(value, '^[1-9]%d*$') then return nil end
  local held = tonumber(value)
  local tag, counts = floor(held / COUNTS), held % COUNTS
  local behind = (number - tag) % TAGS
  if tag >= TAGS or behind > 1 or call('PTTL', key) > 2 * window then return nil end
  if behind == 0 then return counts, false end
  return kind == SLIDING and counts % FIELD * FIELD or 0, true
end

local place, cursor = 1, 1
while cursor < #args do
  local count, kind, window = tonumber(args[cursor + 1]), args[cursor + 2], tonumber(args[cursor + 3])
  local requests, amount = tonumber(args[cursor + 4]), args[cursor + 5]
  local cost, number, rest = tonumber(amount), floor(now / window), window - now % window
  local word, sure = number % TAGS * COUNTS, now + (TAGS - 1) * window >= hint
  local before, last = place - 1, place + count - 1
  local values = count > 1 and call('MGET', unpack(names, place, last)) or {pcall('GET', names[place])}
  cursor = cursor + 5
  while place <= last do
    local key, value = names[place], values[place - before]
    -- Callers of one counter stand together, and share its write.
    local callers = 1
    while names[place + callers] == key and place + callers <= last do callers = callers + 1 end
    local counts, crossed = 0, false -- crossed: this is the first write since the window boundary
    if value then
      counts = (tonumber(value) or 0) - word
      if not sure or counts <= 0 or counts >= COUNTS then
        counts, crossed = older(key, value, kind, number, window)
      end
    end
    local fits, done, denied = 0, false, nil
    if counts then
      local room = requests - counts % FIELD
      if counts >= FIELD then room = room - scaled(floor(counts / FIELD), rest, window) end
      if room >= cost then fits = callers == 1 and 1 or min(callers, floor(room / cost)) end
      local spent = fits * cost
      -- tonumber and MGET accept more than this script writes. What the commands return proves what was read, for
      -- less than a pattern costs.
      if fits == 0 then
        done = value and find(value, '^[1-9]%d*$')
      elseif value and not crossed then
        local result = pcall('INCRBY', key, fits == 1 and amount or format('%.0f', spent))
        done = result == word + counts + spent
        denied = not done and denies(result)
      else
        local result = pcall('SET', key, format('%.0f', word + counts + spent), 'PX', format('%.0f', rest + window),
          value and 'XX' or 'NX')
        denied = denies(result)
        done = result and not result.err
      end
      denial = denied or denial
    end
    for caller = 0, callers - 1 do
      replies = replies + 1
      if denied then
        reply[replies] = DENIED -- also those that did not fit behind others: now they would
      elseif not done then
        reply[replies] = UNDECIDED
      else
        reply[replies] = caller < fits and 2 * (counts + caller * cost) + 1 or 2 * (counts + fits * cost)
      end
    end
    place = place + callers
  end
end
reply[replies + 1] = denial
return reply
