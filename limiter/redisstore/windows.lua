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
-- To make a function takes time, more for each local of the script that it names, and most calls are for one batch. So
-- what is made for every call names as few as it can.
--
-- A script cannot load another, so the layout of a counter's word, what its tag says and the long division stand in
-- general.lua too: change them together.

-- Returns floor(p * r / w) for p < 2^30 and r <= w < 2^35: a long division in two limbs where p * r is too large.
local function scaled(p, r, w)
  local floor = math.floor
  if p * r < 2 ^ 53 then return floor(p * r / w) end -- doubles are exact
  local high = floor(p / 32768) * r
  return floor(high / w) * 32768 + floor((high % w * 32768 + p % 32768 * r) / w)
end

-- Returns what a key that held so much before INCRBY holds of the window with that word, where it is new or its tag is
-- of another window, or may be; and whether it must be set anew, as INCRBY has made it or it is of the window before.
-- Returns nil if only general.lua can tell. A key that was there and held 0 neither script has written.
local function older(key, held, word, window, letter)
  local counts = 2 ^ 48
  local behind = (word - held + held % counts) / counts % 32
  if held == 0 then
    if redis.call('PTTL', key) == -1 then return 0, true end
    return nil
  end
  if held < 0 or held >= 2 ^ 53 or behind > 1 or redis.call('PTTL', key) > 2 * window then return nil end
  if behind == 0 then return held % counts, false end
  return (letter == 'f' or letter == 'F') and 0 or held % 2 ^ 24 * 2 ^ 24, true
end

-- Gives a key its units and its end anew, and reports whether that was done.
local function set(key, units, life)
  local format = string.format
  return not redis.pcall('SET', key, format('%.0f', units), 'PX', format('%.0f', life)).err
end

-- Returns a function that decides every batch.
local function carefully(now, hint, reply)
  local floor, min, find, format, sub = math.floor, math.min, string.find, string.format, string.sub
  local pcall, tonumber, type, names, args = redis.pcall, tonumber, type, KEYS, ARGV
  local FIELD, COUNTS, TAGS, EXACT = 2 ^ 24, 2 ^ 48, 32, 2 ^ 53
  local UNDECIDED = -1

  -- What the batches of the run ask, by charge. A word is that of a counter without units; its tag is sure to tell the
  -- window, unless the clock may have gone back by as many windows as there are tags.
  local letters, windows, requests, costs, rests, words, sure = {}, {}, {}, {}, {}, {}, {}
  local charges, reads, run = 0, false, 0
  local sums -- see below

  -- What becomes of the batch at hand, by charge: what its counter held, how many of the callers fit, and for how many
  -- units were added; whether the key was made by that, and whether it must be set anew.
  local counts, fitting, added, made, anew = {}, {}, {}, {}, {}

  local function enforced(j) return letters[j] ~= 'W' and letters[j] ~= 'F' end

  -- Returns how many of the callers fit beside what a counter holds.
  local function fit(j, has, callers)
    local room, cost = requests[j] - has % FIELD, costs[j]
    if has >= FIELD then room = room - scaled(floor(has / FIELD), rests[j], windows[j]) end
    if room >= callers * cost then return callers end
    return room < cost and 0 or floor(room / cost)
  end

  -- Adds units, or takes them back, and returns what the server says.
  local function increase(key, units) return pcall('INCRBY', key, format('%.0f', units)) end

  -- Returns what a counter holds of this window that held so much, and whether it must be set anew; nil as older does.
  local function count(j, key, held)
    local has = held - words[j]
    if has > 0 and has < COUNTS and sure[j] then return has, false end
    return older(key, held, words[j], windows[j], letters[j])
  end

  -- Adds the units of the callers to a counter and returns how many of them fit. Returns nil if only general.lua can
  -- tell; then the key is as it was.
  local function add(j, key, callers)
    local units = callers * costs[j]
    made[j], anew[j] = false, false
    if units == 0 then -- a bucket that is only asked: mostly there is none
      counts[j], added[j] = 0, callers
      return pcall('GET', key) == false and callers or nil
    end
    local sum = sums[j] or increase(key, units)
    sums[j] = nil
    if type(sum) ~= 'number' then return nil end
    local has = nil
    if sum < EXACT then has, anew[j] = count(j, key, sum - units) end
    if not has then
      increase(key, -units)
      return nil
    end
    counts[j], added[j], made[j] = has, callers, sum == units
    return fit(j, has, callers)
  end

  -- Leaves the units of so many callers in a key, and reports whether that was done.
  local function settle(j, key, takers)
    local change = (takers - added[j]) * costs[j]
    local done
    if takers > 0 and anew[j] then
      done = set(key, words[j] + counts[j] + takers * costs[j], rests[j] + windows[j])
    elseif takers == 0 and made[j] then
      done = type(pcall('DEL', key)) == 'number'
    else
      done = change == 0 or type(increase(key, change)) == 'number'
    end
    if done then added[j], anew[j] = takers, false end
    return done
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
        if type(value) ~= 'string' or letters[j] == 'b' or not find(value, '^[1-9]%d*$') then return false end
        has = count(j, key, tonumber(value))
        if not has then return false end
      end
      counts[j], fitting[j] = has, 0
      full = full or enforced(j) and fit(j, has, 1) == 0
    end
    return full
  end

  -- Writes what the callers are told whose keys stand behind that place, and of whom the first takers are taken.
  local function answer(place, callers, takers)
    for caller = 0, callers - 1 do
      for j = 1, charges do
        local told = UNDECIDED
        if takers then
          told = 2 * (counts[j] + min(caller, takers, fitting[j]) * costs[j])
          if caller < takers then told = told + 1 end
        end
        reply[place + caller * charges + j + 1] = told
      end
    end
  end

  -- Takes in what the run at the cursor asks.
  local function read(cursor)
    local text = args[cursor + 2]
    run, reads, charges = cursor, sub(text, 1, 1) == '?', 0
    cursor = cursor + 2
    for place = reads and 2 or 1, #text do
      local j, window = charges + 1, tonumber(args[cursor + 1])
      letters[j], windows[j], requests[j] = sub(text, place, place), window, tonumber(args[cursor + 2])
      costs[j], rests[j] = tonumber(args[cursor + 3]), window - now % window
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

  -- Decides the first batch behind that place, and those after it on the same keys, of the run at the cursor. Returns
  -- the place behind them. The table holds by charge what INCRBY has returned, where the units were added before.
  return function(cursor, place, last, before)
    if run ~= cursor then read(cursor) end
    sums = before
    local callers, takers = together(place, last), 0
    if not reads or sums[1] or not refuses(place) then takers = take(place, callers) end
    answer(place, callers, takers)
    return place + callers * charges
  end
end

local floor, find, format, sub = math.floor, string.find, string.format, string.sub
local pcall, tonumber, type = redis.pcall, tonumber, type
local names, args = KEYS, ARGV -- a local costs less than a global

local FIELD, COUNTS, TAGS = 2 ^ 24, 2 ^ 48, 32 -- see "Windows" in general.lua
local EXACT = 2 ^ 53                           -- whole numbers below are exact

local time = redis.call('TIME')
local now = time[1] * 1000 + floor(time[2] / 1000)
local hint = tonumber(args[1])
local reply, sums = {now}, {}
local place, cursor, careful = 0, 1, nil

while cursor < #args do
  local batches, text = tonumber(args[cursor + 1]), args[cursor + 2]
  local reads = sub(text, 1, 1) == '?'
  local charges = reads and #text - 1 or #text
  local last = place + batches * charges
  if charges == 1 and text ~= 'b' then
    local window, requests, amount = tonumber(args[cursor + 3]), tonumber(args[cursor + 4]), args[cursor + 5]
    local cost, rest, word = tonumber(amount), window - now % window, floor(now / window) % TAGS * COUNTS
    local letter, sure = sub(text, -1), now + (TAGS - 1) * window >= hint
    while place < last do
      -- Callers of one counter stand together, and share its write.
      local key, callers, units = names[place + 1], 1, cost
      while place + callers < last and names[place + callers + 1] == key do callers = callers + 1 end
      if callers > 1 then units = callers * cost end
      local has, full = 0, false
      if reads and (letter == 'w' or letter == 'f') then -- others are never refused
        local value = pcall('GET', key)
        has = (tonumber(value) or 0) - word
        if sure and has > 0 and has < COUNTS then
          local left = requests - has % FIELD - cost
          if has >= FIELD then left = left - scaled(floor(has / FIELD), rest, window) end
          full = left < 0 and find(value, '^[1-9]%d*$')
        end
      end
      if full then
        for caller = 1, callers do reply[place + caller + 1] = 2 * has end
      else
        local sum = pcall('INCRBY', key, callers == 1 and amount or format('%.0f', units))
        local left, anew = -1, false
        if type(sum) == 'number' and sum < EXACT then
          has = sum - units - word
          if has <= 0 or has >= COUNTS or not sure then has, anew = older(key, sum - units, word, window, letter) end
          if has then
            left = requests - has % FIELD - units
            if has >= FIELD then left = left - scaled(floor(has / FIELD), rest, window) end
          end
        end
        if left < 0 or anew and not set(key, word + has + units, rest + window) then
          careful = careful or carefully(now, hint, reply)
          careful(cursor, place, place + callers, {sum})
        else
          for caller = 1, callers do reply[place + caller + 1] = 2 * (has + (caller - 1) * cost) + 1 end
        end
      end
      place = place + callers
    end
  else
    -- By charge: a base is what INCRBY makes of a counter without units for one caller, out of reach if its tag is not
    -- sure to tell the window; a room is how many units that caller may find.
    local amounts, bases, rooms, windows, rests = {}, {}, {}, {}, {}
    for j = 1, charges do
      local asked = cursor + 3 * j
      local window, amount = tonumber(args[asked]), args[asked + 2]
      local cost = tonumber(amount)
      local word, sure = floor(now / window) % TAGS * COUNTS, now + (TAGS - 1) * window >= hint
      amounts[j], bases[j], rooms[j] = amount, sure and word + cost or math.huge, tonumber(args[asked + 1]) - cost
      windows[j], rests[j] = window, window - now % window
    end
    while place < last do
      local fits, j, olds = not reads and names[place + 1] ~= names[place + charges + 1], 0, nil
      while fits and j < charges do
        j = j + 1
        local key, amount, has = names[place + j], amounts[j], 0
        if amount == '0' then -- a bucket that is only asked: mostly there is none
          fits = not pcall('GET', key)
        else
          local sum = pcall('INCRBY', key, amount)
          sums[j] = sum
          fits = type(sum) == 'number' and sum < EXACT
          has = fits and sum - bases[j] or 0
          if fits and (has <= 0 or has > rooms[j]) then
            local window, rest, cost = windows[j], rests[j], tonumber(amount)
            if has <= 0 or has >= COUNTS then
              local word = floor(now / window) % TAGS * COUNTS
              local anew
              has, anew = older(key, sum - cost, word, window, sub(text, j, j))
              if anew then
                olds = olds or {}
                olds[key] = {word + has + cost, rest + window}
              end
            end
            fits = has and has % FIELD + scaled(floor(has / FIELD), rest, window) <= rooms[j]
          end
        end
        if fits then reply[place + j + 1] = 2 * has + 1 end
      end
      if fits and olds then
        for key, held in pairs(olds) do fits = fits and set(key, held[1], held[2]) end
      end
      if fits then
        place = place + charges
      else
        for i = j + 1, charges do sums[i] = nil end
        careful = careful or carefully(now, hint, reply)
        place = careful(cursor, place, last, sums)
      end
    end
  end
  cursor = cursor + 2 + 3 * charges
end
return reply
