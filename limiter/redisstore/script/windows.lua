
local function setwindows(key, charge, c, p)
  local value
  if c < FIELD and p < FIELD then
    value = whole(charge.word + p * FIELD + c)
  else
    value = format('%.0f:%.0f:%.0f', charge.number, p, c)
  end
  call('SET', key, value, 'PX', whole(charge.rest + charge.window))
end

-- How many windows ago a word with this tag was written: 0, 1, or -1 for in the future.
local function age(key, charge, tag)
  local behind = (charge.number - tag) % TAGS
  if behind == 0 and charge.sure then return 0 end
  if behind > 1 or call('PTTL', key) > 2 * charge.window then return -1 end
  return behind
end

-- The value as text, what of it is current and previous, and its age; no age if this script did not write it.
local function unpackwindows(key, charge, value)
  if find(value, '^[1-9]%d*$') then
    local word = tonumber(value)
    local tag = floor(word / COUNTS)
    if tag >= TAGS then return nil end
    return age(key, charge, tag), word % FIELD, floor(word / FIELD) % FIELD
  end
  local number, p, c = match(value, '^(%d+):(%d+):(%d+)$')
  c, p = tonumber(c), tonumber(p)
  if not number or c > MOST or p > MOST then return nil end
  return max(-1, charge.number - number), c, p
end

-- Readers fill in the place of a key, and return an error or nil.
local function readwindows(i, charge)
  local key = keys[i]
  local value = pcall('GET', key)
  current[i], previous[i], stored[i], packed[i] = 0, 0, false, false
  if not value then return nil end
  if type(value) == 'table' then return value.err end
  local windows, c, p = unpackwindows(key, charge, value)
  if not windows then return '' end
  stored[i] = true
  if windows == 0 then
    current[i], previous[i], packed[i] = c, p, not find(value, ':', 1, true)
  elseif windows == 1 and charge.kind == SLIDING then
    previous[i] = c
  elseif windows == -1 then
    -- Counts from the future are those of now, all of them, as it is not known how far the previous window weighed.
    -- They are stored so at once: a key that is only refused would stay locked until the clock has caught up.
    current[i] = min(c + p, MOST)
    setwindows(key, charge, current[i], 0)
  end
end

local function writewindows(i, charge)
  local key, c, p = keys[i], current[i] + spent[i], previous[i]
  if c + p == 0 then
    if stored[i] then call('DEL', key) end
  elseif packed[i] and c < FIELD then
    local added = spent[i] - back[i] - backprevious[i] * FIELD
    if added ~= 0 then call('INCRBY', key, whole(added)) end
  else
    setwindows(key, charge, c, p)
  end
end
