
-- Windows are stored as one whole number, (tag * 2^24 + previous) * 2^24 + current, where the tag is the number of the
-- window modulo 32 (5 + 24 + 24 bits are 53), or where a count needs more bits as the text number:previous:current.
-- A key ends with the window after its own. So one that has longer to live than two windows is from the future: the
-- server's clock went back.
local FIELD, TAGS = 2 ^ 24, 32

-- How many windows ago a word with this tag was written: 0, 1, or -1 for in the future.
local function age(c, tag)
  local behind = (c.number - tag) % TAGS
  -- Equal tags mean one window, unless the clock may have gone back by as many windows as there are tags.
  if behind == 0 and now + (TAGS - 1) * c.window >= hint then return 0 end
  if behind > 1 or call('PTTL', c.key) > 2 * c.window then return -1 end
  return behind
end

-- The age, previous and current as stored; no age if this script did not write the value.
local function unpackwindows(c, value)
  if find(value, '^[1-9]%d*$') then
    local word = tonumber(value)
    local tag = floor(word / (FIELD * FIELD))
    if tag >= TAGS then return nil end
    return age(c, tag), floor(word / FIELD) % FIELD, word % FIELD
  end
  local number, previous, current = match(value, '^(%d+):(%d+):(%d+)$')
  if not number then return nil end
  return max(-1, c.number - number), tonumber(previous), tonumber(current)
end

local function readwindows(c)
  local value = read('GET', c.key)
  if value == nil then return true end
  if not value then return false end
  local windows, previous, current = unpackwindows(c, value)
  if not windows or previous > MOST or current > MOST then return false end
  c.stored = true
  if windows == 0 then
    c.current, c.previous = current, previous
    c.packed = not find(value, ':', 1, true)
  elseif windows == 1 and c.kind == SLIDING then
    c.previous = current
  elseif windows == -1 then
    -- Counts from the future are those of now, all of them, as it is not known how far the previous window weighed.
    -- A refusal too writes them so: the key would stay locked until the clock has caught up.
    c.current, c.dirty = min(current + previous, MOST), true
  end
  c.hadcurrent, c.hadprevious = c.current, c.previous
  return true
end

-- floor(p * r / w) for p < 2^30 and r <= w < 2^35: a long division in two limbs where p * r is too large.
local function scaled(p, r, w)
  if p * r < EXACT then return floor(p * r / w) end
  local high = floor(p / 32768) * r
  return floor(high / w) * 32768 + floor((high % w * 32768 + p % 32768 * r) / w)
end

local function writewindows(c)
  local current, previous = c.current, c.previous
  local narrow = current < FIELD and previous < FIELD
  if current + previous == 0 then
    if c.stored then call('DEL', c.key) end
    return
  end
  if c.packed and narrow then
    local added = current - c.hadcurrent + (previous - c.hadprevious) * FIELD
    if added ~= 0 then call('INCRBY', c.key, whole(added)) end
    return
  end
  local value
  if narrow then
    value = whole((c.number % TAGS * FIELD + previous) * FIELD + current)
  else
    value = format('%.0f:%.0f:%.0f', c.number, previous, current)
  end
  call('SET', c.key, value, 'PX', whole(c.rest + c.window))
end
