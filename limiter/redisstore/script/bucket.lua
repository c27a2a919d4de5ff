
-- Buckets are stored as the text debt:moment, the debt in units times the window. Their life is the time in which the
-- debt is refilled, at the rate of the last charge.
local LONGEST = 2 ^ 42 -- ms, 139 years: every server can add this to its clock

local function ceildiv(a, b) return a == 0 and 0 or floor((a - 1) / b) + 1 end

local function setbucket(key, debt, rate)
  local life = min(ceildiv(debt, rate), LONGEST)
  call('SET', key, format('%.0f:%.0f', debt, now), 'PX', whole(life))
end

local function readbucket(i, charge)
  local key, rate = keys[i], charge.requests
  local value = pcall('GET', key)
  current[i], previous[i], stored[i] = 0, 0, false
  if not value then return nil end
  if type(value) == 'table' then return value.err end
  local debt, moment = match(value, '^(%d+):(%d+)$')
  debt = tonumber(debt)
  if not debt or debt == 0 or debt >= EXACT then return '' end
  stored[i] = true
  local passed = now - moment
  if passed < 0 then
    -- The clock went back. Nothing was refilled, and the moment is now: else nothing would be until it has caught up.
    setbucket(key, debt, rate)
    passed = 0
  end
  -- Compared before it is multiplied, so that it stays exact.
  if passed < ceildiv(debt, rate) then current[i] = debt - passed * rate end
end

local function writebucket(i, charge)
  local debt, most = current[i], EXACT - 1
  if spent[i] > floor((most - debt) / charge.window) then debt = most else debt = debt + spent[i] * charge.window end
  if debt > 0 then
    setbucket(keys[i], debt, charge.requests)
  elseif stored[i] then
    call('DEL', keys[i])
  end
end
