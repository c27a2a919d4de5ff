-- Decides batches of one enforced charge on one StrictWindow each. protocol.go describes KEYS, ARGV and the reply; cost
-- is from 1 to requests.
--
-- It answers -1, and leaves the key alone, where only general.lua can tell: counters from the future, values that
-- neither script wrote, and keys that the server does not let it write.
--
-- A script cannot load another, so the layout of a StrictWindow stands in general.lua too: change them together.

local floor, min = math.floor, math.min
local byte, char, format, rep, sub = string.byte, string.char, string.format, string.rep, string.sub
local call, pcall, tonumber = redis.call, redis.pcall, tonumber
local names, args = KEYS, ARGV -- a local costs less than a global

local UNDECIDED = -1
local PARTS, MARK, SIZE, OLDER = 10, 1, 55, 16 -- see "Strict windows" in general.lua

local time = call('TIME')
local now = time[1] * 1000 + floor(time[2] / 1000)
local reply, replies = {now}, 1

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

-- Returns a function that decides on counters of that window.
local function counters(window)
  local length = floor((window + PARTS - 1) / PARTS)
  local before, number = floor((window + length - 1) / length), floor(now / length)
  local life = format('%.0f', min((number + before + 2) * length - now, 2 * window))

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

  -- Writes the units of all parts and of the newest one, and reports whether that was done. The parts before it are
  -- those of value, written so many parts ago, or nil.
  local function write(key, value, passed, total, newest)
    if value and passed == 0 then return pcall('SETRANGE', key, '7', bytes(total, newest)) == SIZE end
    local rest = ''
    if value and passed <= before then
      rest = rep('\0', 4 * (passed - 1)) .. sub(value, 12, OLDER - 1 + 4 * (before - passed))
    end
    local head = char(MARK) .. sub(bytes(floor(number / 2 ^ 32), number % 2 ^ 32), 3)
    local result = pcall('SET', key, head .. bytes(total, newest) .. rest .. rep('\0', 4 * PARTS - #rest),
      'PX', life, value and 'XX' or 'NX')
    return result and not result.err
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
    local fits, done = 0, false
    if total then
      if requests - total >= cost then fits = callers == 1 and 1 or min(callers, floor((requests - total) / cost)) end
      done = fits == 0
        or write(key, value, passed, total + fits * cost, (passed == 0 and newest or 0) + fits * cost)
    end
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
      if not done then
        reply[replies] = UNDECIDED
      else
        reply[replies] = caller < fits and 512 * (total + caller * cost) + 1 or 512 * after + 2 * wait
      end
    end
  end
end

local place, cursor = 1, 2
while cursor < #args do
  local batches, requests, cost = tonumber(args[cursor]), tonumber(args[cursor + 2]), tonumber(args[cursor + 3])
  local decide = counters(tonumber(args[cursor + 1]))
  local before, last = place - 1, place + batches - 1
  local values = batches > 1 and call('MGET', unpack(names, place, last)) or {pcall('GET', names[place])}
  while place <= last do
    -- Callers of one counter stand together, and share its write.
    local key, callers = names[place], 1
    while names[place + callers] == key and place + callers <= last do callers = callers + 1 end
    decide(key, values[place - before], callers, requests, cost)
    place = place + callers
  end
  cursor = cursor + 4
end
return reply
