-- Every request tries to change a setting and is refused, because there is no such output.
request = function()
  return wrk.format("GET", "/stm.cgi?oname=9nobody")
end
