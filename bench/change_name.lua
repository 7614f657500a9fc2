-- Every request changes a setting: a new name for one of the outputs.
local number = 0

request = function()
  number = number + 1
  return wrk.format("GET", "/stm.cgi?oname=" .. number % 6 .. "n" .. number)
end
