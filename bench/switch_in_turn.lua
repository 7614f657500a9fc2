-- Six targets in turn, so that no request is like the one before it on its connection.
local number = 0

request = function()
  number = number + 1
  return wrk.format("GET", "/outs.cgi?out" .. number % 6 .. "=" .. math.floor(number / 6) % 2)
end
