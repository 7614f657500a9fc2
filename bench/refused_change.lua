-- Every request asks for a change of a setting that is refused: there is no such output.
request = function()
  return wrk.format("GET", "/stm.cgi?oname=9nobody")
end
