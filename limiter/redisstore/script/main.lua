
local cursor = 1

local function argument()
  cursor = cursor + 1
  return tonumber(ARGV[cursor])
end

local function readshape()
  local shape = {keys = argument(), first = {}}
  for j = 1, argument() do
    local place, kind, window, requests = argument(), argument(), argument(), argument()
    local capacity, cost, mode, moment = argument(), argument(), argument(), argument()
    local number = floor(now / window)
    local charge = {
      place = place, kind = kind, window = window, requests = requests,
      capacity = capacity, cost = cost, mode = mode, moment = moment,
      number = number, rest = window - now % window, tag = number % TAGS, word = number % TAGS * FIELD * FIELD,
    }
    -- A tag tells the window, unless the clock may have gone back by as many windows as there are tags.
    if now + (TAGS - 1) * window < hint then charge.tag = -1 end
    shape[j], shape.first[place] = charge, shape.first[place] or charge
  end
  local charge = shape[1]
  if #shape == 1 and (charge.kind == SLIDING or charge.kind == FIXED) and charge.mode == ENFORCE and charge.cost > 0 then
    shape.usual, charge.amount = charge, whole(charge.cost)
  end
  return shape
end

local shapes, place, decide = {}, 1, nil
for s = 1, argument() do shapes[s] = readshape() end
while cursor < #ARGV do
  local shape, count = shapes[argument()], argument()
  for _ = 1, count do
    local done, value
    if shape.usual then done, value = usual(KEYS[place], shape.usual) end
    if not done then
      decide = decide or general()
      decide(shape, place, value)
    end
    place = place + shape.keys
  end
end
return reply
