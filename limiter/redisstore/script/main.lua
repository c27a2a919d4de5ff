
local place, cursor, others = 1, 1, nil
while cursor < #ARGV do
  local count = tonumber(ARGV[cursor + 1])
  if ARGV[cursor + 2] == '0' then
    -- The usual way, in straight code. The general way takes three times as long; it gets what is neither new nor of
    -- this window, and what needs more bits. The reply is 2, plus 1 if taken, plus twice previous * 2^24 + current.
    local kind, window, requests = ARGV[cursor + 3], tonumber(ARGV[cursor + 4]), tonumber(ARGV[cursor + 5])
    local amount, shape = ARGV[cursor + 6], nil
    local cost, number, rest = tonumber(amount), floor(now / window), window - now % window
    local word, sure = number % TAGS * COUNTS, now + (TAGS - 1) * window >= hint
    cursor = cursor + 6
    for key = place, place + count - 1 do
      local value, counts = pcall('GET', KEYS[key]), 0
      if value then
        counts = sure and type(value) == 'string' and find(value, '^[1-9]%d*$') and value - word or -1
      end
      local done = counts >= 0 and counts < COUNTS
      if done then
        local current, used = counts % FIELD, cost
        used = used + current
        if counts >= FIELD then used = used + scaled(floor(counts / FIELD), rest, window) end
        local fits = used <= requests
        if not fits then
          replies = replies + 1
          reply[replies] = 2 + 2 * counts
        elseif current + cost < FIELD then
          if value then
            call('INCRBY', KEYS[key], amount)
          else
            call('SET', KEYS[key], format('%.0f', word + cost), 'PX', format('%.0f', rest + window))
          end
          replies = replies + 1
          reply[replies] = 3 + 2 * counts
        else
          done = false
        end
      end
      if not done then
        others = others or general()
        shape = shape or others.single(tonumber(kind), window, requests, cost)
        others.decide(shape, key, value)
      end
    end
    place = place + count
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
