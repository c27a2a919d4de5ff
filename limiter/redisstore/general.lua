-- Decides batches of charges of every kind, in order: each is spent, or refused, before the next is read. protocol.go
-- describes KEYS, ARGV and the reply.
--
-- The arithmetic is that of package limiter/algorithm, in doubles: every value on the way is a whole number that a
-- double holds. Numbers for redis.call are written by string.format, because some servers turn large ones into
-- exponents.
--
-- windows.lua repeats the layout of a counter's word, what its tag says and the long division, strict.lua the layout of
-- a StrictWindow: change them together.

local floor, min, max, format = math.floor, math.min, math.max, string.format
local find, match = string.find, string.match
local call, pcall, tonumber = redis.call, redis.pcall, tonumber
local names, args = KEYS, ARGV -- a local costs less than a global

local SLIDING, LOG, FIXED, BUCKET, STRICT = 0, 1, 2, 3, 4
local ENFORCE, PEEK, FORCE, FORGET = 0, 2, 3, 4 -- FORGET is a reset; no mode of package limiter
local MOST = 2 ^ 30 - 1                         -- where counts saturate
local EXACT = 2 ^ 53                            -- whole numbers below are exact

local time = call('TIME')
local now = time[1] * 1000 + floor(time[2] / 1000)
local hint = tonumber(args[1])
local reply, replies = {now}, 1

-- The keys of the batch that is being judged, by their place in it: what they held before the batch, what it spends
-- and what it returns. Buckets hold their debt as current, and strict windows what is in use. Previous is what else the
-- reply says of a key.
local keys, stored, packed = {}, {}, {}
local current, previous, spent, returned, returnedprevious = {}, {}, {}, {}, {}

local function whole(x) return format('%.0f', x) end

-- A server that is full, a replica, or cannot replicate or save denies the first write of a script; once one has
-- succeeded it denies no more. So every write goes by pcall, and a batch whose first one is denied has written nothing.
-- Reads stand, and so do refusals.

-- Runs a write and returns its error, or nil.
local function try(...)
  local result = pcall(...)
  return type(result) == 'table' and result.err or nil
end

local fault -- the error of the batch's first write that failed

-- Runs a write of a batch, unless one has failed.
local function write(...)
  fault = fault or try(...)
end

-- Each algorithm is a function that makes its functions, called on first use: to make them all would cost more than a
-- decision.

-- Windows
--
-- A window's counts are stored as one whole number, (tag * 2^24 + previous) * 2^24 + current, where the tag is the
-- number of the window modulo 32 (5 + 24 + 24 bits are 53), or where a count needs more bits in the wide form, the
-- text number:previous:current. A key expires with the window after its own. So a key with more than two windows to
-- live is from the future: the server's clock went back.

local FIELD, COUNTS, TAGS = 2 ^ 24, 2 ^ 48, 32

local function windowcounts()
  -- Returns floor(p * r / w) for p < 2^30 and r <= w < 2^35: a long division in two limbs where p * r is too large.
  local function scaled(p, r, w)
    if p * r < EXACT then return floor(p * r / w) end
    local high = floor(p / 32768) * r
    return floor(high / w) * 32768 + floor((high % w * 32768 + p % 32768 * r) / w)
  end

  local function set(run, key, charge, c, p)
    local value
    if c < FIELD and p < FIELD then
      value = whole(charge.word + p * FIELD + c)
    else
      value = format('%.0f:%.0f:%.0f', charge.number, p, c)
    end
    run('SET', key, value, 'PX', whole(charge.rest + charge.window))
  end

  -- Returns how many windows ago a word with this tag was written: 0, 1, or -1 for in the future.
  local function age(key, charge, tag)
    local behind = (charge.number - tag) % TAGS
    if behind == 0 and charge.sure then return 0 end
    if behind > 1 or call('PTTL', key) > 2 * charge.window then return -1 end
    return behind
  end

  -- Returns the age of a value, and its current and previous count; no age if neither script wrote it.
  local function unpacked(key, charge, value)
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

  local function read(i, charge)
    local key = keys[i]
    local value = pcall('GET', key)
    current[i], previous[i], stored[i], packed[i] = 0, 0, false, false
    if not value then return nil end
    if type(value) == 'table' then return value.err end
    local windows, c, p = unpacked(key, charge, value)
    if not windows then return '' end
    stored[i] = true
    if windows == 0 then
      current[i], previous[i], packed[i] = c, p, not find(value, ':', 1, true)
    elseif windows == 1 and charge.kind == SLIDING then
      previous[i] = c
    elseif windows == -1 then
      -- Counts from the future are taken for those of now, all of them, as nobody knows how far the previous window
      -- weighed. They are stored so at once, if the server lets: a key that is only refused would stay locked until the
      -- clock has caught up.
      current[i] = min(c + p, MOST)
      set(try, key, charge, current[i], 0)
    end
  end

  local function store(i, charge)
    local key, c, p = keys[i], current[i] + spent[i], previous[i]
    if c + p == 0 then
      if stored[i] then write('DEL', key) end
    elseif packed[i] and c < FIELD then
      local added = spent[i] - returned[i] - returnedprevious[i] * FIELD
      if added ~= 0 then write('INCRBY', key, whole(added)) end
    else
      set(write, key, charge, c, p)
    end
  end

  local function available(i, charge)
    local free = charge.requests - current[i] - spent[i]
    if charge.kind == SLIDING and previous[i] > 0 then return free - scaled(previous[i], charge.rest, charge.window) end
    return free
  end

  return {read = read, available = available, store = store}
end

-- Token buckets
--
-- A bucket is stored as the text debt:moment, the debt in units times the window. It expires when the debt is refilled,
-- at the rate of the latest charge. Under a limit of 0, which refunds and forced charges may have, it refills one unit
-- a window.

local function tokenbucket()
  local LONGEST = 2 ^ 42 -- ms, 139 years: every server can add this to its clock

  local function ceildiv(a, b) return a == 0 and 0 or floor((a - 1) / b) + 1 end

  local function set(run, key, debt, rate)
    local life = min(ceildiv(debt, rate), LONGEST)
    run('SET', key, format('%.0f:%.0f', debt, now), 'PX', whole(life))
  end

  local function read(i, charge)
    local key, rate = keys[i], max(charge.requests, 1)
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
      -- The clock went back. Nothing was refilled, and the moment is now: otherwise nothing would be refilled until the
      -- clock has caught up.
      set(try, key, debt, rate)
      passed = 0
    end
    -- Compared before it is multiplied, so that it stays exact.
    if passed < ceildiv(debt, rate) then current[i] = debt - passed * rate end
  end

  local function store(i, charge)
    local debt, most = current[i], EXACT - 1
    if spent[i] > floor((most - debt) / charge.window) then debt = most else debt = debt + spent[i] * charge.window end
    if debt > 0 then
      set(write, keys[i], debt, max(charge.requests, 1))
    elseif stored[i] then
      write('DEL', keys[i])
    end
  end

  local function available(i, charge) return charge.capacity - ceildiv(current[i], charge.window) - spent[i] end

  return {read = read, available = available, store = store}
end

-- Sliding logs
--
-- A log is a list of pairs: a moment, and the running total of units including those taken then. Pairs that have left
-- the window are dead; the last of them is the base, from which the units in use are counted. Without one it is 0.

local function slidinglog()
  local FEW = 8   -- pairs at the head that are read at once
  local DEAD = 64 -- dead pairs that are kept before they are cut off

  local logs = {} -- what else is known of a list, by its place

  local function digits(text) return text and tonumber(text) or 0 end

  -- Returns the moment (field 0) or the running total (field 1) of a pair, counted from 0.
  local function part(log, pair, field)
    local place = 2 * pair + field
    return digits(log.head[place + 1] or call('LINDEX', log.key, whole(place)))
  end

  -- Returns the first pair, from the first live one on, of which that field is at least bound: one of the first few in
  -- most cases, otherwise found by halving.
  local function search(log, field, bound)
    local low, high = log.first, #log.head / 2
    while low < high do
      if part(log, low, field) >= bound then return low end
      low = low + 1
    end
    if log.unstored then return low end
    high = call('LLEN', log.key) / 2
    while low < high do
      local middle = floor((low + high) / 2)
      if part(log, middle, field) >= bound then high = middle else low = middle + 1 end
    end
    return low
  end

  -- Returns the running total before a pair.
  local function before(log, pair) return pair == 0 and 0 or part(log, pair - 1, 1) end

  -- Makes the list end with that running total, at the pair that reaches it.
  local function cut(run, log, total)
    local failed = run('LTRIM', log.key, '0', whole(2 * search(log, 1, total) + 1))
    if not failed then run('LSET', log.key, '-1', whole(total)) end
    return failed
  end

  -- The clock went back: units taken in the future are taken for units of now. The list is stored so at once, as a log
  -- that is only refused would be locked until the clock has caught up. Where the server denies that, all units are
  -- taken for units of now, until it lets.
  local function reanchor(log, window)
    local total = before(log, search(log, 0, now + 1))
    local failed
    if total == log.base then failed = try('DEL', log.key) else failed = cut(try, log, total) end
    log.newest = now
    if failed then
      log.head, log.first, log.unstored = {whole(now), whole(log.total)}, 0, true
      return
    end
    if total == log.base then log.total, log.base, log.first = log.live, 0, 0 end
    try('RPUSH', log.key, whole(now), whole(log.total))
    try('PEXPIRE', log.key, whole(2 * window))
    log.head = call('LRANGE', log.key, '0', whole(2 * FEW - 1))
  end

  local function read(i, charge)
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
    if log.newest > now then reanchor(log, window) end
    current[i], previous[i] = log.live, log.newest
  end

  -- Returns when the nth oldest unit in use was taken.
  local function takenat(i, n)
    local log = logs[i]
    return part(log, search(log, 1, log.base + n), 0)
  end

  -- Returns when the newest unit was taken that a refund of this batch has left, 0 if the batch is no refund.
  local function newestleft(i)
    if returned[i] > 0 and spent[i] == 0 and current[i] > 0 then return takenat(i, current[i]) end
    return 0
  end

  -- Returns the moment for which a charge waits that does not fit in a log, 0 if it never fits.
  local function awaited(i, charge)
    local wanted = min(spent[i] + charge.cost, MOST)
    if wanted > charge.requests then return 0 end
    return takenat(i, current[i] + wanted - charge.requests)
  end

  -- Starts a list anew, with all units as if taken now.
  local function rewrite(i, charge)
    if stored[i] then write('DEL', keys[i]) end
    local units = current[i] + spent[i]
    if units == 0 then return end
    write('RPUSH', keys[i], whole(now), whole(units))
    write('PEXPIRE', keys[i], whole(2 * charge.window))
  end

  local function store(i, charge)
    local key, log = keys[i], logs[i]
    -- Nothing live is left of it, or (after centuries) running totals are about to lose exactness.
    if current[i] == 0 or log.unstored or log.total > EXACT / 2 then return rewrite(i, charge) end
    local total = log.base + current[i]
    if returned[i] > 0 then cut(write, log, total) end
    if spent[i] > 0 then
      if digits(call('LINDEX', key, '-2')) == now then
        write('LSET', key, '-1', whole(total + spent[i]))
      else
        write('RPUSH', key, whole(now), whole(total + spent[i]))
      end
    end
    if log.first > DEAD then
      write('LTRIM', key, whole(2 * (log.first - 1)), '-1')
      write('LSET', key, '0', '0') -- the base is dead wherever the clock goes
    end
    -- Once per window is enough: this outlives all that is taken before the next.
    if floor(now / charge.window) ~= floor(log.newest / charge.window) then
      write('PEXPIRE', key, whole(2 * charge.window))
    end
  end

  local function available(i, charge) return charge.requests - current[i] - spent[i] end

  return {read = read, available = available, store = store, awaited = awaited, newestleft = newestleft}
end

-- Strict windows
--
-- The window is cut into parts. A counter is stored as a string of fixed length, of numbers with their high bytes
-- first: a mark, the number of the newest part (6 bytes), the units of all parts (4 bytes), and those of the newest one
-- and of the ten before it (4 bytes each). It expires one part after its newest part has left, because the clock may go
-- back within a part, and the time to live does not. What changes while a part lasts stands together, for SETRANGE.

local PARTS, MARK, SIZE = 10, 1, 55

local function strictwindow()
  local byte, char = string.byte, string.char

  local parts = {} -- the units of each part by the place of the key, the newest first, which is number 0

  -- Fills in how long a part is, its number, and how many count before it.
  local function measure(charge)
    if charge.length then return end
    charge.length = floor((charge.window + PARTS - 1) / PARTS)
    charge.before = floor((charge.window + charge.length - 1) / charge.length)
    charge.part = floor(now / charge.length)
  end

  local function bytes(x)
    return char(floor(x / 16777216), floor(x / 65536) % 256, floor(x / 256) % 256, x % 256)
  end

  local function word(value, at)
    local a, b, c, d = byte(value, at, at + 3)
    return ((a * 256 + b) * 256 + c) * 256 + d
  end

  -- Returns the counts as they are stored, and as the reply has them.
  local function joined(counts)
    local texts = {}
    for ago = 0, PARTS do texts[ago + 1] = bytes(counts[ago]) end
    return table.concat(texts)
  end

  local function set(run, key, charge, counts, total)
    local number = charge.part
    local life = min((number + charge.before + 2) * charge.length - now, 2 * charge.window)
    local head = char(MARK, floor(number / 2 ^ 40), floor(number / 2 ^ 32) % 256) .. bytes(number % 2 ^ 32)
    run('SET', key, head .. bytes(total) .. joined(counts), 'PX', whole(life))
  end

  -- Returns the number of the newest part and all counts, or nil if neither script wrote the value.
  local function unpacked(value)
    if #value ~= SIZE or byte(value, 1) ~= MARK then return nil end
    local counts, total = {}, 0
    for ago = 0, PARTS do
      counts[ago] = word(value, 12 + 4 * ago)
      total = total + counts[ago]
    end
    if total == 0 or total > MOST or total ~= word(value, 8) then return nil end
    return byte(value, 2) * 2 ^ 40 + byte(value, 3) * 2 ^ 32 + word(value, 4), counts
  end

  local function read(i, charge)
    measure(charge)
    local key = keys[i]
    local value = pcall('GET', key)
    local counts = {}
    for ago = 0, PARTS do counts[ago] = 0 end
    current[i], previous[i], stored[i], parts[i] = 0, '', false, counts
    if not value then return nil end
    if type(value) == 'table' then return value.err end
    local number, held = unpacked(value)
    if not number then return '' end
    stored[i] = true
    local passed = charge.part - number
    for ago = 0, PARTS do
      -- The clock went back: units of the future count in the part of now.
      local present = max(0, ago + passed)
      if present <= charge.before then
        counts[present] = counts[present] + held[ago]
        current[i] = current[i] + held[ago]
      end
    end
    -- They are stored so at once: a key that is only refused would stay locked until the clock has caught up.
    if passed < 0 then set(try, key, charge, counts, current[i]) end
    previous[i] = joined(counts)
  end

  local function refund(i, charge, n)
    measure(charge)
    local counts = parts[i]
    for ago = 0, charge.before do
      if charge.moment == 0 or floor(charge.moment / charge.length) == charge.part - ago then
        if ago == 0 then
          local own = min(n, spent[i])
          spent[i], n = spent[i] - own, n - own
        end
        local given = min(n, counts[ago])
        counts[ago], n = counts[ago] - given, n - given
        current[i], returned[i] = current[i] - given, returned[i] + given
      end
    end
  end

  local function store(i, charge)
    local total, counts = current[i] + spent[i], parts[i]
    counts[0] = counts[0] + spent[i]
    if total > 0 then
      set(write, keys[i], charge, counts, total)
    elseif stored[i] then
      write('DEL', keys[i])
    end
  end

  local function available(i, charge) return charge.requests - current[i] - spent[i] end

  return {read = read, available = available, store = store, refund = refund}
end

-- Batches

local makers = {
  [SLIDING] = windowcounts, [FIXED] = windowcounts, [LOG] = slidinglog, [BUCKET] = tokenbucket,
  [STRICT] = strictwindow,
}
local made = {}

-- Returns the functions of an algorithm: read fills in the place of a key, and returns an error or nil; the error is
-- empty for a value of another program. available returns how many more units fit. store writes the place of a key.
local function algorithm(kind)
  local one = made[kind]
  if not one then
    one = makers[kind]()
    made[kind] = one
  end
  return one
end

-- Returns n units: first those that the batch itself has spent, then those from before.
local function refund(i, charge, n)
  local kind, moment = charge.kind, charge.moment
  if kind == STRICT then return charge.algorithm.refund(i, charge, n) end
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
    current[i], returned[i], n = current[i] - given, returned[i] + given, n - given
  end
  if inprevious and n > 0 then
    local given = min(n, previous[i])
    previous[i], returnedprevious[i] = previous[i] - given, returnedprevious[i] + given
  end
end

-- Judges a charge and returns whether it fits; what it spends or returns shows to the charges after it.
local function judge(i, charge)
  local cost, mode = charge.cost, charge.mode
  if cost >= 0 and mode ~= FORCE and cost > charge.algorithm.available(i, charge) then return false end
  if mode == PEEK or cost == 0 then return true end
  if cost > 0 then
    local held = charge.kind == BUCKET and 0 or current[i]
    spent[i] = min(spent[i] + cost, MOST - held)
  else
    refund(i, charge, -cost)
  end
  return true
end

local function readkey(i, charge)
  spent[i], returned[i], returnedprevious[i] = 0, 0, 0
  if charge.mode == FORGET then
    current[i], previous[i], stored[i], packed[i] = 0, 0, false, false
    return try('DEL', keys[i])
  end
  return charge.algorithm.read(i, charge)
end

-- Answers a batch whose reply begins at verdict by the error of one of its keys.
local function fail(verdict, i, text)
  for place = verdict + 2, replies do reply[place] = nil end
  reply[verdict], reply[verdict + 1], replies = -i, text, verdict + 1
end

-- Decides the batch whose first key is at that place in KEYS.
local function decide(shape, place)
  for i = 1, shape.keys do keys[i] = names[place + i - 1] end
  local verdict = replies + 1
  fault = nil
  for i = 1, shape.keys do
    local unread = readkey(i, shape.first[i])
    if unread then return fail(verdict, i, unread) end
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
      local log = charge.algorithm
      reply[replies + 1], reply[replies + 2] = fits and 0 or log.awaited(i, charge), log.newestleft(i)
      replies = replies + 2
    end
    if not fits and charge.mode == ENFORCE then taken = false end
  end
  reply[verdict] = taken and 1 or 0
  if not taken then return end
  for i = 1, shape.keys do
    if spent[i] + returned[i] + returnedprevious[i] > 0 then
      shape.first[i].algorithm.store(i, shape.first[i])
      if fault then return fail(verdict, i, fault) end
    end
  end
end

-- Returns what the batches of a run ask, from the arguments behind the cursor, and the cursor behind it.
local function readshape(cursor)
  local function argument()
    cursor = cursor + 1
    return tonumber(args[cursor])
  end
  local shape = {keys = argument(), first = {}} -- first: the first charge of each key
  for j = 1, argument() do
    local place, kind, window, requests = argument(), argument(), argument(), argument()
    local capacity, cost, mode, moment = argument(), argument(), argument(), argument()
    local number = floor(now / window)
    local charge = {
      algorithm = algorithm(kind), place = place, kind = kind, window = window, requests = requests,
      capacity = capacity, cost = cost, mode = mode, moment = moment,
      number = number, rest = window - now % window, word = number % TAGS * COUNTS,
      -- A tag tells the window, unless the clock may have gone back by as many windows as there are tags.
      sure = now + (TAGS - 1) * window >= hint,
    }
    shape[j], shape.first[place] = charge, shape.first[place] or charge
  end
  return shape, cursor
end

local place, cursor = 1, 1
while cursor < #args do
  local count = tonumber(args[cursor + 1])
  local shape, after = readshape(cursor + 1)
  for _ = 1, count do
    decide(shape, place)
    place = place + shape.keys
  end
  cursor = after
end
return reply
