
-- Buckets are stored as the text debt:moment, the debt in units times the window. Their life is the time in which the
-- debt is refilled, at the rate of the last charge.
local LONGEST = 2 ^ 42 -- ms, 139 years: every server can add this to its clock

local function readbucket(c)
  local value = read('GET', c.key)
  if value == nil then return true end
  local debt, moment = match(value or '', '^(%d+):(%d+)$')
  if not debt or tonumber(debt) >= EXACT then return false end
  c.owed, c.moment, c.stored = tonumber(debt), tonumber(moment), true
  -- A moment in the future is now, and written so: the bucket would not refill until the clock has caught up.
  if c.moment > now then c.moment, c.dirty = now, true end
  return true
end

-- The debt now, at the rate of the charge that asks. Compared before it is multiplied, so that it stays exact.
local function refill(c, rate)
  local passed = now - c.moment
  c.rate = rate
  c.debt = passed < ceildiv(c.owed, rate) and c.owed - passed * rate or 0
end

local function settlebucket(c)
  local most = EXACT - 1
  c.owed = c.spent > floor((most - c.debt) / c.window) and most or c.debt + c.spent * c.window
  c.moment = now
end

local function writebucket(c)
  if c.owed > 0 then
    local life = min(ceildiv(c.owed, c.rate), LONGEST)
    call('SET', c.key, format('%.0f:%.0f', c.owed, c.moment), 'PX', whole(life))
  elseif c.stored then
    call('DEL', c.key)
  end
end
