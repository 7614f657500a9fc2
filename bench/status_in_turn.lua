-- Six status files in turn, so that no request is like the one before it on its connection.
local paths = {
  "/json/status.json", "/json/all.json", "/json/outputs.json",
  "/json/inputs.json", "/json/pwmpid.json", "/xml/ix.xml",
}
local number = 0

request = function()
  number = number + 1
  return wrk.format("GET", paths[number % #paths + 1])
end
