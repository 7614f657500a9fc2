-- A building with several clients: integrations poll their status files, a panel reads the state,
-- and every tenth request switches an output or moves a PWM duty. Each has its own headers.
local clients = {
  {"/json/all.json", "python-requests/2.32.3"},
  {"/json/status.json", "HomeAssistant/2026.11 aiohttp/3.14"},
  {"/api/state", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"},
  {"/json/inputs.json", "okhttp/4.12.0"},
  {"/xml/ix.xml", "curl/8.5.0"},
}
local number = 0

request = function()
  number = number + 1
  local client = clients[number % #clients + 1]
  local target = client[1]
  if number % 10 == 0 then
    local round = math.floor(number / 10)
    if round % 2 == 0 then
      target = "/outs.cgi?out" .. round % 6 .. "=" .. math.floor(round / 6) % 2
    else
      target = "/stm.cgi?pwmd=" .. round % 4 .. round % 101
    end
  end
  return wrk.format("GET", target, {["User-Agent"] = client[2], Accept = "*/*"})
end
