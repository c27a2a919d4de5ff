
-- The usual way, in straight code. The general way takes three times as long; it gets what is neither new nor of this
-- window, what needs more bits, and what this script did not write. One MGET reads for all; INCRBY and NX prove what it
-- read, as a call costs less than a pattern.
local place, cursor, others = 1, 1, nil
while cursor < #args do
  local count = tonumber(args[cursor + 1])
  local after = place + count
  if args[cursor + 2] == '0' then
    local kind, window, requests = args[cursor + 3], tonumber(args[cursor + 4]), tonumber(args[cursor + 5])
    local amount, shape = args[cursor + 6], nil
    local cost, number, rest = tonumber(amount), floor(now / window), window - now % window
    local word, sure = number % TAGS * COUNTS, now + (TAGS - 1) * window >= hint
    local values = count > 1 and call('MGET', unpack(names, place, after - 1)) or {pcall('GET', names[place])}
    local before = place - 1
    cursor = cursor + 6
    while place < after do
      local key, value, counts = names[place], values[place - before], 0
      -- Callers of one counter stand together.
      local callers = 1
      while names[place + callers] == key and place + callers < after do callers = callers + 1 end
      if value then counts = sure and (tonumber(value) or 0) - word or 0 end
      local fits, done = 0, false
      if not value or counts > 0 and counts < COUNTS then
        local room = requests - counts % FIELD
        if counts >= FIELD then room = room - scaled(floor(counts / FIELD), rest, window) end
        if room >= cost then fits = callers == 1 and 1 or min(callers, floor(room / cost)) end
        local spent = fits * cost
        if fits == 0 then
          done = value and find(value, '^[1-9]%d*$')
        elseif counts % FIELD + spent >= FIELD then
          done = false
        elseif value then
          done = pcall('INCRBY', key, fits == 1 and amount or format('%.0f', spent)) == word + counts + spent
        else
          done = call('SET', key, format('%.0f', word + spent), 'PX', format('%.0f', rest + window), 'NX')
        end
      end
      if done then
        for caller = 0, callers - 1 do
          replies = replies + 1
          reply[replies] = caller < fits and 3 + 2 * (counts + caller * cost) or 2 + 2 * (counts + fits * cost)
        end
      else
        others = others or general()
        shape = shape or others.single(tonumber(kind), window, requests, cost)
        for caller = 0, callers - 1 do others.decide(shape, place + caller) end
      end
      place = place + callers
    end
  else
    others = others or general()
    local shape
    shape, cursor = others.readshape(cursor + 1)
    for _ = 1, count do
      others.decide(shape, place)
      place = place + shape.keys
    end
  end
end
return reply
