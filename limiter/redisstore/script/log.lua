
-- Logs are lists of pairs: a moment, and the running total of units with those taken then. Pairs that have left the
-- window are dead; the last of them is the base, from which the units in use are counted. Without one it is 0.
local FEW = 8   -- pairs at the head that are read at once
local DEAD = 64 -- dead pairs that are kept before they are cut off

local function number(text) return text and tonumber(text) or 0 end

-- The moment (field 0) or the running total (field 1) of a pair, counted from 0.
local function part(c, pair, field)
  local place = 2 * pair + field
  return number(c.head[place + 1] or call('LINDEX', c.key, whole(place)))
end

-- The first pair from c.first on of which that part is at least bound: mostly one of the first few, else by halving.
local function search(c, field, bound)
  local low, high = c.first, #c.head / 2
  while low < high do
    if part(c, low, field) >= bound then return low end
    low = low + 1
  end
  high = call('LLEN', c.key) / 2
  while low < high do
    local middle = floor((low + high) / 2)
    if part(c, middle, field) >= bound then high = middle else low = middle + 1 end
  end
  return low
end

-- The running total before a pair.
local function before(c, pair) return pair == 0 and 0 or part(c, pair - 1, 1) end

local function readlog(c)
  local tail = read('LRANGE', c.key, '-2', '-1')
  if not tail then return false end
  if #tail == 0 then return true end
  if not (find(tail[1], '^%d+$') and find(tail[2] or '', '^%d+$')) then return false end
  c.newest, c.total, c.stored = tonumber(tail[1]), tonumber(tail[2]), true
  c.last = c.newest
  if c.newest <= now - c.window then return true end
  c.head = call('LRANGE', c.key, '0', whole(2 * FEW - 1))
  c.first = search(c, 0, max(now, c.newest) - c.window + 1)
  c.base = before(c, c.first)
  c.live = c.total - c.base
  c.current = c.live
  if c.newest > now then
    -- The clock went back. What was taken in the future is as if taken now, and a refusal too writes it so.
    c.returned = c.total - before(c, search(c, 0, now + 1))
    c.added, c.newest, c.dirty = c.returned, now, true
  end
  return c.live > 0 and c.live <= MOST
end

-- When the nth oldest unit in use was taken.
local function takenat(c, n)
  if n > c.live - c.returned then return now end
  return part(c, search(c, 1, c.base + n), 0)
end

-- Keeps account of what the list is to lose at its end (returned) and to get (added, at this moment).
local function settlelog(c)
  local own = min(c.back, c.added)
  c.added = c.added - own + c.spent
  c.returned = c.returned + c.back - own
  if c.added > 0 then
    c.newest = now
  elseif c.current > 0 then
    c.newest = takenat(c, c.current)
  end
end

-- Starts a list anew, with all units as if taken now.
local function rewritelog(c)
  if c.stored then call('DEL', c.key) end
  if c.current == 0 then return end
  call('RPUSH', c.key, whole(now), whole(c.current))
  call('PEXPIRE', c.key, whole(2 * c.window))
end

local function writelog(c)
  local key, total = c.key, c.total - c.returned
  -- Nothing live is left of it, or (after centuries) running totals are about to lose exactness.
  if total == c.base or c.live == 0 or c.total > EXACT / 2 then return rewritelog(c) end
  if c.returned > 0 then
    call('LTRIM', key, '0', whole(2 * search(c, 1, total) + 1))
    call('LSET', key, '-1', whole(total))
  end
  if c.added > 0 then
    if number(call('LINDEX', key, '-2')) == now then
      call('LSET', key, '-1', whole(total + c.added))
    else
      call('RPUSH', key, whole(now), whole(total + c.added))
    end
  end
  if c.first > DEAD then
    call('LTRIM', key, whole(2 * (c.first - 1)), '-1')
    call('LSET', key, '0', '0') -- the base is dead wherever the clock goes
  end
  -- Once per window is enough: this outlives all that is taken before the next.
  if floor(now / c.window) ~= floor(c.last / c.window) then call('PEXPIRE', key, whole(2 * c.window)) end
end
