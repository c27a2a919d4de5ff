-- Decides batches of charges on windows, which most batches are, the straight way: each counter is added to first, and
-- what INCRBY returns says whether that fitted. protocol.go describes KEYS, ARGV and the reply; requests is below 2^24,
-- cost from 1 to requests, and no two charges of a batch are on one counter.
--
-- It decides where keys are new, of this window, or of the window before. It answers -1, and leaves all keys of the
-- batch as they were, where only general.lua can tell: counts in the wide form, counters from the future, values that
-- neither script wrote, and keys that the server does not let it write. A server denies the first write of a script or
-- none, so nothing has been written then; and what is refused all the same general.lua finds by reading.
--
-- What was added and does not fit is taken back before the next batch is looked at. Nobody sees a server between two
-- commands of a script, neither do its replicas, and a log that ends there is cut off before the script. Taking back is
-- one more write, so of clients who were refused just before the counters are read first.
--
-- A script cannot load another, so the layout of a counter's word, what its tag says and the long division stand in
-- general.lua too: change them together.

local floor, format = math.floor, string.format
local call, pcall, tonumber, type = redis.call, redis.pcall, tonumber, type
local names, args = KEYS, ARGV -- a local costs less than a global

local FIELD, COUNTS, TAGS = 2 ^ 24, 2 ^ 48, 32 -- see "Windows" in general.lua
local EXACT = 2 ^ 53                           -- whole numbers below are exact
local UNDECIDED = -1

local time = call('TIME')
local now = time[1] * 1000 + floor(time[2] / 1000)
local hint = tonumber(args[1])
local reply, replies = {now}, 1

-- Returns floor(p * r / w) for p < 2^30 and r <= w < 2^35: a long division in two limbs where p * r is too large.
local function scaled(p, r, w)
  if p * r < EXACT then return floor(p * r / w) end
  local high = floor(p / 32768) * r
  return floor(high / w) * 32768 + floor((high % w * 32768 + p % 32768 * r) / w)
end

-- Returns a function that decides all that is not decided below. It is made where that is asked for, as it takes long.
local function carefully()
  local min, byte, find = math.min, string.byte, string.find
  local FIXED, SHADOWFIXED, SHADOW, BUCKET, READS = byte('fFWb?', 1, 5)

  -- What the batches of the run ask, by charge. A word is that of a counter without units; its tag is sure to tell the
  -- window, unless the clock may have gone back by as many windows as there are tags.
  local kinds, windows, requests, costs, amounts, rests, words, sure = {}, {}, {}, {}, {}, {}, {}, {}
  local charges, reads, run = 0, false, 0

  -- What becomes of the batch at hand, by charge: what its counter held, how many of the callers fit, and for how many
  -- units were added; and whether the key was made by that, or has units of the window before and must be set anew.
  local counts, fitting, added, made, crossed = {}, {}, {}, {}, {}
  local sums = {} -- what INCRBY has returned where the units were added before this function was asked

  local function enforced(j) return kinds[j] ~= SHADOW and kinds[j] ~= SHADOWFIXED end

  -- Returns how many of the callers fit beside what a counter holds.
  local function fit(j, has, callers)
    local room, cost = requests[j] - has % FIELD, costs[j]
    if has >= FIELD then room = room - scaled(floor(has / FIELD), rests[j], windows[j]) end
    if room >= callers * cost then return callers end
    return room < cost and 0 or floor(room / cost)
  end

  -- Returns what a key holds in this window whose tag is of another, or may be, and whether it was written in the
  -- window before. Returns nil if only general.lua can tell.
  local function older(j, key, held)
    local tag, has = floor(held / COUNTS), held % COUNTS
    local behind = (words[j] / COUNTS - tag) % TAGS
    if tag < 0 or tag >= TAGS or behind > 1 or call('PTTL', key) > 2 * windows[j] then return nil end
    if behind == 0 then return has, false end
    return (kinds[j] == FIXED or kinds[j] == SHADOWFIXED) and 0 or has % FIELD * FIELD, true
  end

  -- Adds units, or takes them back, and returns what the server says.
  local function increase(key, units) return pcall('INCRBY', key, format('%.0f', units)) end

  -- Stores so many units beside what a key held, with its end, and reports whether that was done.
  local function set(j, key, units)
    local result = pcall('SET', key, format('%.0f', words[j] + counts[j] + units),
      'PX', format('%.0f', rests[j] + windows[j]))
    return not result.err
  end

  -- Gives a key that INCRBY has made its end, at once, and returns how many of the callers fit. Returns nil if it
  -- cannot get one, or has one already, because then it was there and held 0, which neither script writes.
  local function begin(j, key, callers)
    local n = min(callers, floor(requests[j] / costs[j]))
    counts[j], added[j], made[j] = 0, n, true
    if call('PTTL', key) ~= -1 then
      increase(key, -callers * costs[j])
    elseif set(j, key, n * costs[j]) then
      return n
    else
      pcall('DEL', key)
    end
    return nil
  end

  -- Adds the units of the callers to a counter and returns how many of them fit. Returns nil if only general.lua can
  -- tell; then the key is as it was.
  local function add(j, key, callers)
    local units = callers * costs[j]
    made[j], crossed[j] = false, false
    if units == 0 then -- a bucket that is only asked: mostly there is none
      counts[j], added[j] = 0, callers
      return pcall('GET', key) == false and callers or nil
    end
    local sum = sums[j] or increase(key, units)
    sums[j] = nil
    if type(sum) ~= 'number' then return nil end
    local held = sum - units
    local has = held - words[j]
    if has <= 0 or has >= COUNTS or sum >= EXACT or not sure[j] then
      if held == 0 then return begin(j, key, callers) end
      has = nil
      if sum < EXACT then has, crossed[j] = older(j, key, held) end
      if not has then
        increase(key, -units)
        return nil
      end
    end
    counts[j], added[j] = has, callers
    return fit(j, has, callers)
  end

  -- Leaves the units of so many callers in a key, and reports whether that was done.
  local function settle(j, key, takers)
    local change = (takers - added[j]) * costs[j]
    added[j] = takers
    if crossed[j] and takers > 0 then
      crossed[j] = false
      return set(j, key, takers * costs[j])
    end
    if change == 0 then return true end
    local result
    if made[j] and takers == 0 then result = pcall('DEL', key) else result = increase(key, change) end
    return type(result) == 'number'
  end

  -- Adds what the batches of the callers ask whose keys stand behind that place. Returns how many of them are taken,
  -- the first ones; nil if that is not for here to decide.
  local function take(place, callers)
    local takers, reached = callers, charges
    for j = 1, charges do
      fitting[j] = add(j, names[place + j], callers)
      if not fitting[j] then
        takers, reached = nil, j - 1
        break
      end
      if fitting[j] < takers and enforced(j) then takers = fitting[j] end
    end
    for j = 1, reached do
      if takers and not settle(j, names[place + j], min(takers, fitting[j])) then takers = nil end
    end
    for j = 1, takers and 0 or reached do settle(j, names[place + j], 0) end
    return takers
  end

  -- Reports whether the counters say, read only, that none of the callers is taken.
  local function refuses(place)
    local full = false
    for j = 1, charges do
      local key, has = names[place + j], 0
      local value = pcall('GET', key)
      if value then
        if type(value) ~= 'string' or kinds[j] == BUCKET or not find(value, '^[1-9]%d*$') then return false end
        has = value - words[j]
        if has <= 0 or has >= COUNTS or not sure[j] then has = older(j, key, tonumber(value)) end
        if not has then return false end
      end
      counts[j], fitting[j] = has, 0
      full = full or enforced(j) and fit(j, has, 1) == 0
    end
    return full
  end

  -- Appends what the callers are told, of whom the first takers are taken.
  local function answer(callers, takers)
    for caller = 0, callers - 1 do
      for j = 1, charges do
        replies = replies + 1
        if takers then
          local before = counts[j] + min(caller, takers, fitting[j]) * costs[j]
          reply[replies] = caller < takers and 2 * before + 1 or 2 * before
        else
          reply[replies] = UNDECIDED
        end
      end
    end
  end

  -- Takes in what the run at the cursor asks.
  local function read(cursor)
    local letters = args[cursor + 2]
    run, reads, charges = cursor, byte(letters) == READS, 0
    cursor = cursor + 2
    for place = reads and 2 or 1, #letters do
      local j, window = charges + 1, tonumber(args[cursor + 1])
      kinds[j], windows[j], requests[j] = byte(letters, place), window, tonumber(args[cursor + 2])
      costs[j], amounts[j], rests[j] = tonumber(args[cursor + 3]), args[cursor + 3], window - now % window
      words[j], sure[j] = floor(now / window) % TAGS * COUNTS, now + (TAGS - 1) * window >= hint
      charges, cursor = j, cursor + 3
    end
  end

  -- Returns how many batches in a row are on the same keys, the first of them behind that place, before last.
  local function together(place, last)
    local other, callers = place + charges, 1
    while other < last do
      for j = 1, charges do
        if names[other + j] ~= names[place + j] then return callers end
      end
      other, callers = other + charges, callers + 1
    end
    return callers
  end

  -- Adds what the batch of one caller asks, and reports whether all was as usual: then it is taken and answered. Else
  -- what was added stands in sums.
  local function usual(place)
    for j = 1, charges do
      local key, cost, has = names[place + j], costs[j], 0
      if cost == 0 then
        if pcall('GET', key) then return false end
      else
        local sum = pcall('INCRBY', key, amounts[j])
        sums[j] = sum
        if not sure[j] or type(sum) ~= 'number' or sum >= EXACT then return false end
        has = sum - cost - words[j]
        if has <= 0 or has >= COUNTS or has % FIELD + cost > requests[j] then return false end
        if has >= FIELD and fit(j, has, 1) == 0 then return false end
      end
      reply[replies + j] = 2 * has + 1
    end
    replies = replies + charges
    for j = 1, charges do sums[j] = nil end
    return true
  end

  -- Decides so many batches of the run at the cursor, whose keys stand behind that place, and returns the place behind
  -- them and the cursor behind the run. If all are on one counter sum may be what INCRBY has returned for them.
  return function(cursor, place, batches, sum)
    if run ~= cursor then read(cursor) end
    local last = place + batches * charges
    sums[1] = sum
    while place < last do
      local callers = together(place, last)
      if reads and refuses(place) then
        answer(callers, 0)
      elseif sum or callers > 1 or not usual(place) then
        answer(callers, take(place, callers))
      end
      place = place + callers * charges
    end
    return place, cursor + 2 + 3 * charges
  end
end

local place, cursor, careful = 0, 1, nil
while cursor < #args do
  local batches, letters = tonumber(args[cursor + 1]), args[cursor + 2]
  if letters == 'w' or letters == 'f' or letters == 'W' or letters == 'F' then -- one charge
    local window, requests, amount = tonumber(args[cursor + 3]), tonumber(args[cursor + 4]), args[cursor + 5]
    local cost, last, rest = tonumber(amount), place + batches, window - now % window
    local word, sure = floor(now / window) % TAGS * COUNTS, now + (TAGS - 1) * window >= hint
    while place < last do
      -- Callers of one counter stand together, and share its write.
      local key, callers, units = names[place + 1], 1, cost
      while place + callers < last and names[place + callers + 1] == key do callers = callers + 1 end
      if callers > 1 then units = callers * cost end
      local sum = pcall('INCRBY', key, callers == 1 and amount or format('%.0f', units))
      local has = sure and type(sum) == 'number' and sum < EXACT and sum - units - word or 0
      local left = -1
      if has > 0 and has < COUNTS then
        left = requests - has % FIELD - units
        if has >= FIELD then left = left - scaled(floor(has / FIELD), rest, window) end
      end
      if left < 0 then
        careful = careful or carefully()
        careful(cursor, place, callers, sum)
      else
        for caller = 0, callers - 1 do
          replies = replies + 1
          reply[replies] = 2 * (has + caller * cost) + 1
        end
      end
      place = place + callers
    end
    cursor = cursor + 5
  else
    careful = careful or carefully()
    place, cursor = careful(cursor, place, batches)
  end
end
return reply
