
-- Windows are stored as one whole number, (tag * 2^24 + previous) * 2^24 + current, where the tag is the number of the
-- window modulo 32 (5 + 24 + 24 bits are 53), or where a count needs more bits as the text number:previous:current.
-- A key ends with the window after its own. So one that has longer to live than two windows is from the future: the
-- server's clock went back.
local FIELD, TAGS = 2 ^ 24, 32

-- floor(p * r / w) for p < 2^30 and r <= w < 2^35: a long division in two limbs where p * r is too large.
local function scaled(p, r, w)
  if p * r < EXACT then return floor(p * r / w) end
  local high = floor(p / 32768) * r
  return floor(high / w) * 32768 + floor((high % w * 32768 + p % 32768 * r) / w)
end

-- What most batches are, in straight code: one enforced charge on a counter that is new or of this window. The general
-- way takes three times as long. Returns whether that was all, and else what was read.
local function usual(key, charge)
  local value, current, previous = pcall('GET', key), 0, 0
  if value then
    if type(value) == 'table' or not find(value, '^[1-9]%d*$') then return false, value end
    local counts = value - charge.word
    if counts < 0 or counts >= FIELD * FIELD or charge.tag < 0 then return false, value end
    current, previous = counts % FIELD, floor(counts / FIELD)
  end
  local used = current + charge.cost
  if previous > 0 then used = used + scaled(previous, charge.rest, charge.window) end
  local fits = used <= charge.requests
  if fits then
    if current + charge.cost >= FIELD then return false, value end
    if value then
      call('INCRBY', key, charge.amount)
    else
      call('SET', key, whole(charge.word + charge.cost), 'PX', whole(charge.rest + charge.window))
    end
  end
  reply[replies + 1], reply[replies + 2], reply[replies + 3] = fits and 1 or 0, current, previous
  replies = replies + 3
  return true
end
