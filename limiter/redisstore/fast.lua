-- Decides batches of one enforced charge on one window each, which most batches are. protocol.go describes KEYS, ARGV
-- and the reply; requests is below 2^24, of a StrictWindow any number, and cost from 1 to requests.
--
-- It decides keys that are new, of this window, or of the window before. It answers -1, and leaves the key alone,
-- where only general.lua can tell what the key holds: counts in the wide form, counters from the future, and values
-- that neither script wrote. A batch whose write the server denies is answered -2; refusals only read, and stand.
--
-- A script cannot load another, so the layout of a counter's word, what its tag says, the long division and the layout
-- of a StrictWindow stand in both files: change them together.

local floor, min = math.floor, math.min
local find, format = string.find, string.format
local byte, char, rep, sub = string.byte, string.char, string.rep, string.sub
local call, pcall, tonumber = redis.call, redis.pcall, tonumber
local names, args = KEYS, ARGV -- a local costs less than a global

local FIELD, COUNTS, TAGS = 2 ^ 24, 2 ^ 48, 32 -- see "Windows" in general.lua
local EXACT = 2 ^ 53                           -- whole numbers below are exact
local SLIDING, STRICT, UNDECIDED, DENIED = '0', '4', -1, -2
local PARTS, MARK, SIZE, OLDER = 10, 1, 55, 16 -- see "Strict windows" in general.lua

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

-- Returns a function that decides on a StrictWindow. It is made only where one is asked for, as that takes long.
local function strictwindow(window)
  local length = floor((window + PARTS - 1) / PARTS)
  local before, number = floor((window + length - 1) / length), floor(now / length)
  local life = format('%.0f', min((number + before + 2) * length - now, 2 * window))

  -- Returns the four bytes of each of two numbers, without the calls that floor would be.
  local function bytes(x, y)
    local x4, y4 = x % 256, y % 256
    x, y = (x - x4) / 256, (y - y4) / 256
    local x3, y3 = x % 256, y % 256
    x, y = (x - x3) / 256, (y - y3) / 256
    local x2, y2 = x % 256, y % 256
    return char((x - x2) / 256, x2, x3, x4, (y - y2) / 256, y2, y3, y4)
  end

  -- Returns the count of the part that was ago before the newest one when value was written.
  local function count(value, ago)
    local a, b, c, d = byte(value, 12 + 4 * ago, OLDER - 1 + 4 * ago)
    return ((a * 256 + b) * 256 + c) * 256 + d
  end

  -- Returns the units of all parts, how many parts ago value was written, and the units of the part of then.
  -- Returns nil if only general.lua can tell.
  local function read(value)
    if type(value) ~= 'string' or #value ~= SIZE then return nil end
    local mark, a, b, c, d, e, f, g, h, i, j, k, l, m, n = byte(value, 1, OLDER - 1)
    local passed = number - (((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f)
    if mark ~= MARK or passed < 0 then return nil end
    if passed > before then return 0, passed, 0 end
    local total = ((g * 256 + h) * 256 + i) * 256 + j
    for ago = before - passed + 1, before do total = total - count(value, ago) end
    return total, passed, ((k * 256 + l) * 256 + m) * 256 + n
  end

  -- Writes the units of all parts and of the newest one, and returns whether that was done, or an error. The parts
  -- before it are those of value, written so many parts ago, or nil.
  local function write(key, value, passed, total, newest)
    if value and passed == 0 then
      local result = pcall('SETRANGE', key, '7', bytes(total, newest))
      return result == SIZE, denies(result)
    end
    local rest = ''
    if value and passed <= before then
      rest = rep('\0', 4 * (passed - 1)) .. sub(value, 12, OLDER - 1 + 4 * (before - passed))
    end
    local head = char(MARK) .. sub(bytes(floor(number / 2 ^ 32), number % 2 ^ 32), 3)
    local result = pcall('SET', key, head .. bytes(total, newest) .. rest .. rep('\0', 4 * PARTS - #rest),
      'PX', life, value and 'XX' or 'NX')
    return result and not result.err, denies(result)
  end

  -- Returns how many parts before the present one the part lies that has to leave for lacking units to fit.
  local function awaited(value, passed, lacking)
    for ago = before - passed, 0, -1 do
      lacking = lacking - count(value, ago)
      if lacking <= 0 then return ago + passed end
    end
    return 0
  end

  -- Returns how many parts before the present one the newest part lies that holds units.
  local function newestheld(value, passed)
    local ago = 0
    while ago < before - passed and count(value, ago) == 0 do ago = ago + 1 end
    return ago + passed
  end

  -- Returns both in one number, for charges that do not fit beside total units, of which so many are in what was the
  -- newest part when value was written.
  local function waits(value, passed, lacking, total, newest)
    if newest == total then return 17 * passed end
    return 16 * awaited(value, passed, lacking) + (newest > 0 and passed or newestheld(value, passed))
  end

  -- Decides the callers of one key and appends their answers.
  return function(key, value, callers, requests, cost)
    local total, passed, newest = 0, nil, 0
    if value then total, passed, newest = read(value) end
    local fits, done, denied = 0, false, nil
    if total then
      if requests - total >= cost then fits = callers == 1 and 1 or min(callers, floor((requests - total) / cost)) end
      done = true
      if fits > 0 then
        done, denied = write(key, value, passed, total + fits * cost, (passed == 0 and newest or 0) + fits * cost)
      end
    end
    denial = denied or denial
    local after, wait = nil, nil -- of those that do not fit
    if done and fits < callers then
      after, wait = total + fits * cost, 0
      if fits == 0 then
        wait = waits(value, passed, total + cost - requests, total, newest)
      elseif total > 0 then
        wait = 16 * awaited(value, passed, after + cost - requests)
      end
    end
    for caller = 0, callers - 1 do
      replies = replies + 1
      if denied then
        reply[replies] = DENIED
      elseif not done then
        reply[replies] = UNDECIDED
      else
        reply[replies] = caller < fits and 512 * (total + caller * cost) + 1 or 512 * after + 2 * wait
      end
    end
  end
end

local place, cursor = 1, 1
while cursor < #args do
  local count, kind, window = tonumber(args[cursor + 1]), args[cursor + 2], tonumber(args[cursor + 3])
  local requests, amount = tonumber(args[cursor + 4]), args[cursor + 5]
  local cost, number, rest = tonumber(amount), floor(now / window), window - now % window
  local word, sure = number % TAGS * COUNTS, now + (TAGS - 1) * window >= hint
  local before, last = place - 1, place + count - 1
  local values = count > 1 and call('MGET', unpack(names, place, last)) or {pcall('GET', names[place])}
  local strict = kind == STRICT and strictwindow(window)
  cursor = cursor + 5
  while strict and place <= last do
    local callers = 1
    while names[place + callers] == names[place] and place + callers <= last do callers = callers + 1 end
    strict(names[place], values[place - before], callers, requests, cost)
    place = place + callers
  end
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
