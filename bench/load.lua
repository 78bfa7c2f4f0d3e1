-- What wrk asks and how it reads the answers: load.py starts it and reads the line that it prints.
-- Arguments: path, sessions. A path that begins with /llm is a chat; sessions take turns.
local threads = {}
local things = { "the answer log", "a deadline", "the outbox", "my bicycle", "the archive", "the server" }

function setup(thread)
  thread:set("number", #threads)
  table.insert(threads, thread)
end

function init(args)
  path, sessions = args[1], tonumber(args[2])
  asked, wrong, is_chat = 0, 0, path:sub(1, 4) == "/llm"
  wanted = is_chat and '"response": ?"You said: What happens' or '{"status":"healthy"}'
end

function request()
  asked = asked + 1
  if not is_chat then return wrk.format("GET", path) end
  local text = ("What happens to %s after restart %d, run %d?"):format(
    things[asked % #things + 1], asked, number)
  local body = ('{"messages": [{"role": "user", "content": "%s"}], "session_id": "load-%d-%d"}'):format(
    text, number, asked % sessions)
  return wrk.format("POST", path, { ["Content-Type"] = "application/json" }, body)
end

function response(status, headers, body)
  if status ~= 200 or not body:find(wanted) then wrong = wrong + 1 end
end

function done(summary, latency, requests)
  local wrong, errors = 0, summary.errors
  for _, thread in ipairs(threads) do wrong = wrong + thread:get("wrong") end
  io.write(("{\"requests\": %d, \"wrong\": %d, \"lost\": %d, \"seconds\": %f"):format(
    summary.requests, wrong, errors.connect + errors.read + errors.write + errors.timeout,
    summary.duration / 1e6))
  io.write((", \"fastest\": %f, \"median\": %f, \"p95\": %f, \"p99\": %f}\n"):format(
    latency.min / 1e3, latency:percentile(50) / 1e3, latency:percentile(95) / 1e3,
    latency:percentile(99) / 1e3))
end
