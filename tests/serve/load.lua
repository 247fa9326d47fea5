-- SPDX-License-Identifier: Apache-2.0
-- load.lua - requests for wrk: what a page asks, in turn; with NEW=1 rankings that nobody asked before, so that each is computed.
local paths = {
  "/", "/style.css", "/chart.js", "/charts.js", "/app.js", "/api/models", "/api/devices", "/api/rank?model=resnet50",
  "/api/rank?model=bert-large&objective=price", "/api/rank?model=gpt2-xl&objective=energy&where=memory%3E30GB",
  "/api/device?model=resnet50&device=nvidia-h200&batch=256",
}
local threads, at = 0, 0

function setup(thread)
  threads = threads + 1
  thread:set("first", threads * 1000000)
end

function request()
  at = at + 1
  if os.getenv("NEW") then return wrk.format("GET", "/api/rank?model=resnet50&samples=" .. (first + at)) end
  return wrk.format("GET", paths[at % #paths + 1])
end

function done(summary)
  local e = summary.errors
  io.write(string.format("%d requests; errors: %d of sockets, %d of status, %d late\n", summary.requests,
    e.connect + e.read + e.write, e.status, e.timeout))
end
