
-- Logs are lists of pairs: a moment, and the running total of units with those taken then. Pairs that have left the
-- window are dead; the last of them is the base, from which the units in use are counted. Without one it is 0.
local FEW = 8   -- pairs at the head that are read at once
local DEAD = 64 -- dead pairs that are kept before they are cut off

local logs = {} -- what else is known of a list, by its place

local function digits(text) return text and tonumber(text) or 0 end

-- The moment (field 0) or the running total (field 1) of a pair, counted from 0.
local function part(log, pair, field)
  local place = 2 * pair + field
  return digits(log.head[place + 1] or call('LINDEX', log.key, whole(place)))
end

-- The first pair, from the first live one on, of which that part is at least bound: mostly one of the first few, else
-- by halving.
local function search(log, field, bound)
  local low, high = log.first, #log.head / 2
  while low < high do
    if part(log, low, field) >= bound then return low end
    low = low + 1
  end
  high = call('LLEN', log.key) / 2
  while low < high do
    local middle = floor((low + high) / 2)
    if part(log, middle, field) >= bound then high = middle else low = middle + 1 end
  end
  return low
end

-- The running total before a pair.
local function before(log, pair) return pair == 0 and 0 or part(log, pair - 1, 1) end

-- Makes the list end with that running total, at that pair.
local function cut(log, total)
  call('LTRIM', log.key, '0', whole(2 * search(log, 1, total) + 1))
  call('LSET', log.key, '-1', whole(total))
end

-- The clock went back: what was taken in the future is as if taken now. It is stored so at once, as a log that is only
-- refused would be locked until the clock has caught up.
local function comeback(log, window)
  local total = before(log, search(log, 0, now + 1))
  if total == log.base then call('DEL', log.key) else cut(log, total) end
  if total == log.base then log.total, log.base, log.first, total = log.live, 0, 0, 0 end
  call('RPUSH', log.key, whole(now), whole(log.total))
  call('PEXPIRE', log.key, whole(2 * window))
  log.newest = now
  log.head = call('LRANGE', log.key, '0', whole(2 * FEW - 1))
end

local function readlog(i, charge)
  local key, window = keys[i], charge.window
  local tail = pcall('LRANGE', key, '-2', '-1')
  current[i], previous[i], stored[i] = 0, 0, false
  if tail.err then return tail.err end
  if #tail == 0 then return nil end
  if not (find(tail[1], '^%d+$') and find(tail[2] or '', '^%d+$')) then return '' end
  stored[i] = true
  local log = {key = key, newest = tonumber(tail[1]), total = tonumber(tail[2]), first = 0, base = 0, live = 0}
  logs[i] = log
  if log.newest <= now - window then return nil end
  log.head = call('LRANGE', key, '0', whole(2 * FEW - 1))
  log.first = search(log, 0, max(now, log.newest) - window + 1)
  log.base = before(log, log.first)
  log.live = log.total - log.base
  if not (log.live > 0 and log.live <= MOST) then return '' end
  if log.newest > now then comeback(log, window) end
  current[i], previous[i] = log.live, log.newest
end

-- When the nth oldest unit in use was taken.
local function takenat(i, n)
  local log = logs[i]
  return part(log, search(log, 1, log.base + n), 0)
end

-- When the newest unit was taken that a refund of this batch has left.
local function newestleft(i)
  if back[i] > 0 and spent[i] == 0 and current[i] > 0 then return takenat(i, current[i]) end
  return 0
end

-- Starts a list anew, with all units as if taken now.
local function rewritelog(i, charge)
  if stored[i] then call('DEL', keys[i]) end
  local units = current[i] + spent[i]
  if units == 0 then return end
  call('RPUSH', keys[i], whole(now), whole(units))
  call('PEXPIRE', keys[i], whole(2 * charge.window))
end

local function writelog(i, charge)
  local key, log = keys[i], logs[i]
  -- Nothing live is left of it, or (after centuries) running totals are about to lose exactness.
  if current[i] == 0 or log.total > EXACT / 2 then return rewritelog(i, charge) end
  local total = log.base + current[i]
  if back[i] > 0 then cut(log, total) end
  if spent[i] > 0 then
    if digits(call('LINDEX', key, '-2')) == now then
      call('LSET', key, '-1', whole(total + spent[i]))
    else
      call('RPUSH', key, whole(now), whole(total + spent[i]))
    end
  end
  if log.first > DEAD then
    call('LTRIM', key, whole(2 * (log.first - 1)), '-1')
    call('LSET', key, '0', '0') -- the base is dead wherever the clock goes
  end
  -- Once per window is enough: this outlives all that is taken before the next.
  if floor(now / charge.window) ~= floor(log.newest / charge.window) then
    call('PEXPIRE', key, whole(2 * charge.window))
  end
end
