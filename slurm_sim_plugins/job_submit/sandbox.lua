-- What a job_submit.lua runs in. It is given tables by Python, and hands back a function that is called for each
-- submission. A script has no files, no processes, no bytecode, so many instructions for a call, and no way out of pcall
-- when they are spent.
local host, numbers, modified, texts, tables, known, steps = ...
local sethook, getinfo, error, type, pairs, tonumber, tostring = debug.sethook, debug.getinfo, error, type, pairs, tonumber, tostring
local create, resume, status, select, unpack = coroutine.create, coroutine.resume, coroutine.status, select, unpack
local format, setmetatable, pcall, xpcall = string.format, setmetatable, pcall, xpcall
local ipairs, rawset = ipairs, rawset
local loadstring, setfenv = loadstring, setfenv
local spent = false

local function stop()
  spent = true
  error("more than " .. steps .. " instructions", 2)
end

local function watched(co) sethook(co, stop, "", steps); return co end

local function line(level)
  local at = getinfo(level + 1, "Sl")
  return at and at.short_src .. ":" .. at.currentline or "?"
end

-- What Python raises in a function of the host reaches Lua as a Python object. A script sees its words only.
local function plain(wrong)
  if type(wrong) == "userdata" then return tostring(wrong) end
  return wrong
end

-- A script that is over its bound does not go on behind a pcall.
local function on(ok, ...)
  if spent then error("more than " .. steps .. " instructions", 0) end
  if not ok then return ok, plain((...)) end
  return ok, ...
end

local env = {
  assert = assert, error = error, ipairs = ipairs, next = next, pairs = pairs, rawequal = rawequal, rawget = rawget,
  rawset = rawset, select = select, tonumber = tonumber, tostring = tostring, type = type, unpack = unpack,
  setmetatable = setmetatable, getmetatable = function(of) return type(of) == "table" and getmetatable(of) or nil end,
  math = math, table = table, _VERSION = _VERSION,
  pcall = function(...) return on(pcall(...)) end,
  xpcall = function(body, handler) return on(xpcall(body, function(wrong) return handler(plain(wrong)) end)) end,
  print = function() end,
  coroutine = {
    create = function(body) return watched(create(body)) end,
    resume = function(...) return on(resume(...)) end,
    status = status, yield = coroutine.yield, running = coroutine.running,
    wrap = function(body)
      local co = watched(create(body))
      return function(...)
        local got = { on(resume(co, ...)) }
        if not got[1] then error(got[2], 0) end
        return unpack(got, 2)
      end
    end,
  },
  os = { time = function() return host.time() end, clock = function() return 0 end,
         getenv = function() return nil end },
}
env._G = env
string.dump, math.randomseed = nil, function() end
-- The same numbers in each run: the minimal standard generator of Park and Miller (1988).
local state = 1
math.random = function(low, high)
  state = state * 16807 % 2147483647
  if not low then return state / 2147483647 end
  if not high then low, high = 1, low end
  return low + state % (high - low + 1)
end
env.string = string
-- Modules that lie beside the script are the site's own words, as the script is.
local loaded = {}
env.package = { path = "", loaded = loaded }
env.require = function(name)
  if loaded[name] == nil then
    local chunk, wrong = loadstring(host.module(tostring(name)), "@" .. tostring(name) .. ".lua")
    if not chunk then error(wrong, 2) end
    local made = setfenv(chunk, env)(name)
    loaded[name] = made == nil and true or made
  end
  return loaded[name]
end
setmetatable(env.os, { __index = function(_, name)
  if name == "date" or name == "difftime" then
    error("os." .. name .. " is not to be had here: the clock is simulated, and os.time() counts its seconds", 2)
  end
  error("os." .. tostring(name) .. " is not to be had here: no files, no processes", 2)
end })
for _, name in pairs({ "module", "dofile", "loadfile", "load", "loadstring", "io" }) do
  local function refused() error(name .. " is not to be had here: no files, no processes, no code from texts", 2) end
  env[name] = name == "io" and setmetatable({}, { __index = refused }) or refused
end

-- What nobody reads is put together, as that may be an error of the script, and not handed on.
local heard = true
local function log(level)
  return function(...)
    local text = format(...)
    if heard or level == "user" then host.log(level, text) end
  end
end
local slurm = { SUCCESS = 0, ERROR = -1, FAILURE = -1, log_user = log("user"), user_msg = log("user"), error = log("error") }
slurm.log = slurm.log_user
for _, level in pairs({ "error", "info", "verbose", "debug", "debug2", "debug3", "debug4" }) do
  slurm["log_" .. level] = log(level)
end
slurm.log = log("info")
slurm.time_str2mins = function(text) return host.minutes(text) end

-- Records of jobs and reservations: their fields are fetched when the first of them is read. As in Slurm, what a script
-- writes there is seen by the script alone.
local keys, facts = setmetatable({}, { __mode = "k" }), setmetatable({}, { __mode = "k" })
local function reading(kind)
  return {
    __metatable = false,
    __index = function(record, name)
      local held = facts[record]
      if held == nil then
        held = host.record(kind, keys[record])
        facts[record] = held
      end
      local value = held[name]
      if value == nil and not known[kind][name] then host.unknown(kind, tostring(name), line(2)) end
      return value
    end,
    __newindex = function(record, name, value)
      host.lost(kind, tostring(name), line(2))
      rawset(record, name, value)
    end,
  }
end
local readers = { job_rec = reading("job_rec"), jobs = reading("jobs"), reservations = reading("reservations") }

local function record(kind, key)
  local made = setmetatable({}, readers[kind])
  keys[made] = key
  return made
end

-- The tables slurm.jobs and slurm.reservations are there while a job is judged, and are made when they are looked at.
local judging = false
setmetatable(slurm, {
  __metatable = false,
  __index = function(_, name)
    if not judging or (name ~= "jobs" and name ~= "reservations") then return nil end
    local made = {}
    for _, key in ipairs(host.keys(name)) do made[key] = record(name, key) end
    rawset(slurm, name, made)
    return made
  end,
})
env.slurm = slurm

-- Three fields say what memory a job wants, and are one number in Slurm: the last that was written says what all hold.
local memory_fields = { pn_min_memory = true, min_mem_per_node = true, min_mem_per_cpu = true }
local per_cpu = 2 ^ 63
local no_memory = 2 ^ 64 - 2

local function wanted_memory(field, value, name)
  if field == "pn_min_memory" then
    if value >= no_memory then
      if name == field then return value end
      return nil
    end
    field, value = value >= per_cpu and "min_mem_per_cpu" or "min_mem_per_node", value % per_cpu
  end
  if name == field then return value end
  if name == "pn_min_memory" then return field == "min_mem_per_cpu" and per_cpu + value or value end
  return nil
end

-- Fields of job_desc. The plugin of Slurm takes numbers that are written as text, and refuses what is neither.
local written, memory
local function assign(_, name, value)
  if numbers[name] ~= nil then
    local number = tonumber(value)
    if type(value) == "boolean" or number == nil then
      error("job_desc." .. tostring(name) .. ": number expected, got " .. type(value), 2)
    end
    value = number >= 0 and math.floor(number) or math.ceil(number)
  elseif texts[name] then
    if type(value) ~= "string" and type(value) ~= "number" then
      error("job_desc." .. tostring(name) .. ": string expected, got " .. type(value), 2)
    end
    value = tostring(value)
  else
    host.unknown("job_desc", tostring(name), line(2))
    return
  end
  if memory_fields[name] then
    for field in pairs(memory_fields) do written[field] = nil end
    memory = name
  end
  written[name] = value
end

local function describe(stated, blank)
  written, memory = {}, nil
  return setmetatable({}, {
    __newindex = assign,
    __index = function(_, name)
      if memory and memory_fields[name] then return wanted_memory(memory, written[memory], name) end
      local value = written[name]
      if value == nil then value = stated[name] end
      if value == nil then value = blank[name] end
      if value == nil and tables[name] then return {} end
      if value == nil and not texts[name] and numbers[name] == nil then host.unknown("job_desc", tostring(name), line(2)) end
      if value ~= value then return nil end
      return value
    end,
  })
end

local function bounded(...)
  spent = false
  sethook(stop, "", steps)
  local got = { pcall(...) }
  sethook()
  return spent, got[1], got[2]
end

local function judge(judged, listening, ...)
  heard, judging = listening, true
  slurm.jobs, slurm.reservations = nil, nil
  local over, fine, answer = bounded(judged, ...)
  judging = false
  return over, fine, answer, written
end

local function submit(stated, parts, uid, listening)
  return judge(env.slurm_job_submit, listening, describe(stated, numbers), parts, uid)
end

local function modify(stated, parts, uid, listening)
  return judge(env.slurm_job_modify, listening, describe(stated, modified), record("job_rec", ""), parts, uid)
end

return env, slurm, bounded, submit, modify, loadstring, setfenv
