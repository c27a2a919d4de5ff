
local readers = {[SLIDING] = readwindows, [FIXED] = readwindows, [LOG] = readlog, [BUCKET] = readbucket}
local writers = {[SLIDING] = writewindows, [FIXED] = writewindows, [LOG] = writelog, [BUCKET] = writebucket}

-- How many more units would fit.
local function room(i, charge)
  if charge.kind == BUCKET then return charge.capacity - ceildiv(current[i], charge.window) - spent[i] end
  local free = charge.requests - current[i] - spent[i]
  if charge.kind == SLIDING and previous[i] > 0 then return free - scaled(previous[i], charge.rest, charge.window) end
  return free
end

-- Gives units back: first those that the batch itself has taken, then those from before.
local function refund(i, charge, n)
  local kind, moment = charge.kind, charge.moment
  local incurrent, inprevious = true, kind == SLIDING
  if moment ~= 0 and kind == LOG then
    incurrent = moment > now - charge.window
  elseif moment ~= 0 and kind ~= BUCKET then
    local charged = floor(moment / charge.window)
    incurrent, inprevious = charged == charge.number, inprevious and charged == charge.number - 1
  end
  if incurrent then
    local own = min(n, spent[i])
    spent[i], n = spent[i] - own, n - own
    local unit = kind == BUCKET and charge.window or 1
    local given = n <= floor(current[i] / unit) and n * unit or current[i]
    current[i], back[i], n = current[i] - given, back[i] + given, n - given
  end
  if inprevious and n > 0 then
    local given = min(n, previous[i])
    previous[i], backprevious[i] = previous[i] - given, backprevious[i] + given
  end
end

-- Whether a charge fits.
local function judge(i, charge)
  local cost, mode = charge.cost, charge.mode
  if cost >= 0 and mode ~= FORCE and cost > room(i, charge) then return false end
  if mode == LOOK or cost == 0 then return true end
  if cost > 0 then
    local held = charge.kind == BUCKET and 0 or current[i]
    spent[i] = min(spent[i] + cost, MOST - held)
  else
    refund(i, charge, -cost)
  end
  return true
end

-- The moment for which a charge waits that does not fit in a log.
local function awaited(i, charge)
  local wanted = min(spent[i] + charge.cost, MOST)
  if wanted > charge.requests then return 0 end
  return takenat(i, current[i] + wanted - charge.requests)
end

local function readkey(i, charge)
  spent[i], back[i], backprevious[i] = 0, 0, 0
  if charge.mode == FORGET then
    call('DEL', keys[i])
    current[i], previous[i], stored[i], packed[i] = 0, 0, false, false
    return nil
  end
  return readers[charge.kind](i, charge)
end

-- Decides the batch whose first key is at that place in KEYS.
local function decide(shape, place)
  for i = 1, shape.keys do keys[i] = names[place + i - 1] end
  local verdict = replies + 1
  for i = 1, shape.keys do
    local fault = readkey(i, shape.first[i])
    if fault then
      reply[verdict], reply[verdict + 1], replies = -i, fault, verdict + 1
      return
    end
  end
  replies = verdict
  for i = 1, shape.keys do
    reply[replies + 1], reply[replies + 2] = current[i], previous[i]
    replies = replies + 2
  end
  local taken = true
  for j = 1, #shape do
    local charge = shape[j]
    local i = charge.place
    local fits = judge(i, charge)
    if charge.kind == LOG then
      reply[replies + 1], reply[replies + 2] = fits and 0 or awaited(i, charge), newestleft(i)
      replies = replies + 2
    end
    if not fits and charge.mode == ENFORCE then taken = false end
  end
  reply[verdict] = taken and 1 or 0
  if not taken then return end
  for i = 1, shape.keys do
    if spent[i] + back[i] + backprevious[i] > 0 then
      writers[shape.first[i].kind](i, shape.first[i])
    end
  end
end

local function newcharge(kind, window, requests, cost, mode)
  local number = floor(now / window)
  return {
    place = 1, kind = kind, window = window, requests = requests, cost = cost, mode = mode,
    number = number, rest = window - now % window, word = number % TAGS * COUNTS,
    -- A tag tells the window, unless the clock may have gone back by as many windows as there are tags.
    sure = now + (TAGS - 1) * window >= hint,
  }
end

-- The shape of a usual batch that the usual way cannot decide.
local function single(kind, window, requests, cost)
  local charge = newcharge(kind, window, requests, cost, ENFORCE)
  return {keys = 1, first = {charge}, charge}
end

-- Reads a shape from the arguments that follow the cursor, and returns it and the cursor after it.
local function readshape(cursor)
  local function argument()
    cursor = cursor + 1
    return tonumber(args[cursor])
  end
  local shape = {keys = argument(), first = {}}
  for j = 1, argument() do
    local place, kind, window, requests = argument(), argument(), argument(), argument()
    local capacity, cost, mode, moment = argument(), argument(), argument(), argument()
    local charge = newcharge(kind, window, requests, cost, mode)
    charge.place, charge.capacity, charge.moment = place, capacity, moment
    shape[j], shape.first[place] = charge, shape.first[place] or charge
  end
  return shape, cursor
end

return {decide = decide, single = single, readshape = readshape}
