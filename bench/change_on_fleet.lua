-- Every request changes a setting of the next of a hundred controllers.
local number = 0

request = function()
  number = number + 1
  local host = { ["Host"] = "c-" .. number % 100 + 1 .. ".localhost" }
  return wrk.format("GET", "/stm.cgi?oname=" .. number % 6 .. "n" .. number, host)
end
