
-- Cells are what the keys hold while the batches are decided.
local cells, order = {}, {}

local function empty(c)
  c.current, c.previous, c.hadcurrent, c.hadprevious = 0, 0, 0, 0
  c.owed, c.moment = 0, now
  c.live, c.base, c.total, c.first, c.newest, c.last, c.returned, c.added = 0, 0, 0, 0, 0, 0, 0, 0
  c.spent, c.back, c.backprevious = 0, 0, 0 -- what the batch under judgement takes and gives back
end

local function cell(key, charge)
  local c = cells[key]
  if c then return c end
  local window = charge.window
  c = {key = key, kind = charge.kind, window = window, number = floor(now / window), rest = window - now % window}
  empty(c)
  cells[key], order[#order + 1] = c, c
  if charge.mode == FORGET then return c end
  local reader = c.kind == BUCKET and readbucket or c.kind == LOG and readlog or readwindows
  c.foreign = not reader(c)
  return c
end

local function room(c, charge)
  if c.kind == BUCKET then return charge.capacity - ceildiv(c.debt, c.window) - c.spent end
  local free = charge.requests - c.current - c.spent
  if c.previous > 0 then free = free - scaled(c.previous, c.rest, c.window) end
  return free
end

-- Gives units back: first those that the batch itself has taken, then those from before.
local function refund(c, n, moment)
  local incurrent, inprevious = true, true
  if moment ~= 0 and c.kind == LOG then
    incurrent = moment > now - c.window
  elseif moment ~= 0 and c.kind ~= BUCKET then
    local charged = floor(moment / c.window)
    incurrent, inprevious = charged == c.number, charged == c.number - 1
  end
  if incurrent then
    local own = min(n, c.spent)
    c.spent, n = c.spent - own, n - own
    if c.kind == BUCKET then
      local back = n <= floor(c.debt / c.window) and n * c.window or c.debt
      c.debt, c.back = c.debt - back, c.back + back
      return
    end
    local back = min(n, c.current)
    c.current, c.back, n = c.current - back, c.back + back, n - back
  end
  if inprevious then
    local back = min(n, c.previous)
    c.previous, c.backprevious = c.previous - back, c.backprevious + back
  end
end

-- Whether a charge fits, and else the moment that it waits for if that is not to be calculated from the counts.
local function judge(c, charge)
  local cost = charge.cost
  if cost >= 0 and charge.mode ~= FORCE and cost > room(c, charge) then
    local wanted = min(c.spent + cost, MOST)
    if c.kind ~= LOG or wanted > charge.requests then return false, 0 end
    return false, takenat(c, c.current + wanted - charge.requests)
  end
  if charge.mode ~= LOOK then
    if cost > 0 then
      c.spent = min(c.spent + cost, MOST - c.current)
    elseif cost < 0 then
      refund(c, -cost, charge.moment)
    end
  end
  return true, 0
end

local function settle(c)
  if c.spent + c.back + c.backprevious == 0 then return end
  c.dirty = true
  if c.kind == BUCKET then
    settlebucket(c)
  else
    c.current = c.current + c.spent
    if c.kind == LOG then settlelog(c) end
  end
  c.spent, c.back, c.backprevious = 0, 0, 0
end

local function undo(c)
  if c.kind ~= BUCKET then
    c.current, c.previous = c.current + c.back, c.previous + c.backprevious
  end
  c.spent, c.back, c.backprevious = 0, 0, 0
end

local reply, replies = {now}, 1

local function say(x)
  replies = replies + 1
  reply[replies] = x
end

local function forget(c)
  empty(c)
  c.foreign, c.packed, c.stored, c.dirty = false, false, true, true
end

-- Tells what a key of the batch holds.
local function sayheld(c, rate)
  if c.kind == BUCKET then
    refill(c, rate)
    say(c.debt)
    say(0)
  else
    say(c.current)
    say(c.kind == LOG and c.newest or c.previous)
  end
end

-- When the newest unit of a log was taken that a refund of this batch has left in it.
local function newestleft(c)
  if c.back > 0 and c.spent == 0 and c.current > 0 then return takenat(c, c.current) end
  return 0
end

local function decide(shape, batch)
  for i = 1, shape.keys do
    if shape.first[i].mode == FORGET then forget(batch[i]) end
    if batch[i].foreign then return say(-i) end
  end
  say(1)
  local verdict, taken = replies, true
  for i = 1, shape.keys do sayheld(batch[i], shape.first[i].requests) end
  for i = 1, #shape do
    local charge = shape[i]
    local fits, moment = judge(batch[charge.place], charge)
    if charge.kind == LOG then
      say(moment)
      say(newestleft(batch[charge.place]))
    end
    if not fits and charge.mode == ENFORCE then taken = false end
  end
  if not taken then reply[verdict] = 0 end
  local finish = taken and settle or undo
  for i = 1, shape.keys do finish(batch[i]) end
end

local cursor = 1

local function argument()
  cursor = cursor + 1
  return tonumber(ARGV[cursor])
end

local function readshape()
  local shape = {keys = argument(), first = {}}
  for i = 1, argument() do
    local charge = {}
    for _, name in ipairs({'place', 'kind', 'window', 'requests', 'capacity', 'cost', 'mode', 'moment'}) do
      charge[name] = argument()
    end
    shape[i] = charge
    shape.first[charge.place] = shape.first[charge.place] or charge
  end
  return shape
end

local shapes, batch, key = {}, {}, 0
for i = 1, argument() do shapes[i] = readshape() end
while cursor < #ARGV do
  local shape, count = shapes[argument()], argument()
  for _ = 1, count do
    for i = 1, shape.keys do
      key = key + 1
      batch[i] = cell(KEYS[key], shape.first[i])
    end
    if failure then return failure end
    decide(shape, batch)
  end
end

for _, c in ipairs(order) do
  if c.dirty and not c.foreign then
    local writer = c.kind == BUCKET and writebucket or c.kind == LOG and writelog or writewindows
    writer(c)
  end
end
return reply
