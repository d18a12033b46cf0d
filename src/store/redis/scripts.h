// Scripts: what must happen in Redis in one step. They run under Redis' own rules for scripts: bounded by the batch, a fraction of a
// millisecond each. Sent whole (EVAL): hashing a kilobyte costs the server less than a key, and a server that has forgotten its scripts is
// no special case.
#pragma once

#include <string_view>

namespace rondo::redis {

/// Pops a batch of a Staged table.
/// KEYS: pending set, deleted set, in-flight hash. ARGV: row prefix, staging prefix, most keys, number of this batch, "1" to rename staged
/// hashes that become new rows, then the numbers of batches that were dealt with.
/// Answer: {keys left, {key, 1 if the row was deleted first, what was set, ...}}; what was set is a list of fields and values, or the
/// number 1 for a row that is new as a whole and is to be read, or nil where nothing was set.
/// A key of another type under a name of ours is found out before anything is popped. What is refused later (a user without the right)
/// breaks the pop off: the keys are in flight by then, those whose staged hash is left wait again after the recovery.
inline constexpr std::string_view kPopStaged = R"lua(
if redis.replicate_commands then redis.replicate_commands() end
if #ARGV > 5 then redis.call('HDEL', KEYS[3], unpack(ARGV, 6)) end
redis.call('HLEN', KEYS[3])
local marks = redis.call('SCARD', KEYS[2])
local keys = redis.call('SPOP', KEYS[1], ARGV[3])
if #keys == 0 then return {0, {}} end
local gone = false
if marks > 0 then
  gone = {}
  for i, key in ipairs(keys) do gone[i] = redis.call('SREM', KEYS[2], key) end
end
redis.call('HSET', KEYS[3], ARGV[4], cmsgpack.pack({keys, gone}))
if gone then
  local rows = {}
  for i, key in ipairs(keys) do
    if gone[i] == 1 then rows[#rows + 1] = ARGV[1] .. key end
  end
  if #rows > 0 then redis.call('DEL', unpack(rows)) end
end
local function put(row, fields)
  for i = 1, #fields, 2000 do
    local answer = redis.pcall('HSET', row, unpack(fields, i, math.min(i + 1999, #fields)))
    if type(answer) == 'table' and answer.err then
      redis.call('DEL', row)
      redis.call('HSET', row, unpack(fields, i, math.min(i + 1999, #fields)))
    end
  end
end
local out, used, hits, misses = {}, {}, 0, 0
local n = 0
for i, key in ipairs(keys) do
  local staged, row = ARGV[2] .. key, ARGV[1] .. key
  local deleted = gone and gone[i] or 0
  local set = nil
  if ARGV[5] == '1' and deleted == 0 and misses <= hits + 8 then
    local moved = redis.pcall('RENAMENX', staged, row)
    if moved == 1 then
      set = 1
      hits = hits + 1
    else
      misses = misses + 1
    end
  end
  if not set then
    local fields = redis.pcall('HGETALL', staged)
    if fields.err then
      if not string.find(fields.err, 'WRONGTYPE', 1, true) then return fields end
      redis.call('DEL', staged)
      fields = {}
    end
    if #fields > 0 then
      set = fields
      put(row, fields)
      used[#used + 1] = staged
    elseif deleted == 0 then
      set = fields
      if redis.call('EXISTS', row) == 0 then redis.call('HSET', row, 'NULL', 'NULL') end
    end
  end
  out[n + 1], out[n + 2], out[n + 3] = key, deleted, set or false
  n = n + 3
end
if #used > 0 then redis.call('DEL', unpack(used)) end
return {redis.call('SCARD', KEYS[1]), out}
)lua";

/// What of a Staged table is in flight. A key whose pop was broken off in the middle (its staged hash is still there) waits again.
/// If such a key has no row yet and had no Delete, nothing of it is to be told before that.
/// KEYS: pending set, in-flight hash. ARGV: staging prefix, row prefix. Answer: {keys pending, {batch, {keys}, {deleted}, ...}}.
inline constexpr std::string_view kRecoverStaged = R"lua(
local batches = redis.call('HGETALL', KEYS[2])
local out, n = {}, 0
for i = 1, #batches, 2 do
  local content = cmsgpack.unpack(batches[i + 1])
  local keys, gone = {}, {}
  for k, key in ipairs(content[1]) do
    local deleted = content[2] and content[2][k] or 0
    local again = redis.call('EXISTS', ARGV[1] .. key) == 1
    if again then redis.call('SADD', KEYS[1], key) end
    if not again or deleted == 1 or redis.call('EXISTS', ARGV[2] .. key) == 1 then
      keys[#keys + 1], gone[#gone + 1] = key, deleted
    end
  end
  out[n + 1], out[n + 2], out[n + 3] = batches[i], keys, gone
  n = n + 3
end
return {redis.call('SCARD', KEYS[1]), out}
)lua";

/// Rows of a Staged table as they are, and what waits for them.
/// KEYS: pending set, deleted set. ARGV: row prefix, staging prefix, then the keys.
/// Answer, for each key: 0 if nothing waits, 1, or 2 if a Delete does; the row's fields and values, none where they will be deleted; those
/// that are staged. A key of another type is no row, and stages nothing.
inline constexpr std::string_view kReadWritten = R"lua(
local out, n = {}, 0
local function fields(hash)
  local found = redis.pcall('HGETALL', hash)
  if found.err then return {} end
  return found
end
for i = 3, #ARGV do
  local waits = redis.call('SISMEMBER', KEYS[1], ARGV[i])
  if waits == 1 then waits = 1 + redis.call('SISMEMBER', KEYS[2], ARGV[i]) end
  out[n + 1] = waits
  out[n + 2] = waits < 2 and fields(ARGV[1] .. ARGV[i]) or {}
  out[n + 3] = waits > 0 and fields(ARGV[2] .. ARGV[i]) or {}
  n = n + 3
end
return out
)lua";

/// Pops entries of a Queue, oldest first. KEYS: list, in-flight hash. ARGV: most entries, number of this batch, then the numbers of batches
/// that were dealt with. Answer: {entries left, {key, value, operation, ...}}.
inline constexpr std::string_view kPopQueue = R"lua(
if redis.replicate_commands then redis.replicate_commands() end
redis.call('HLEN', KEYS[2])
if #ARGV > 2 then redis.call('HDEL', KEYS[2], unpack(ARGV, 3)) end
local raw = redis.call('LRANGE', KEYS[1], -3 * ARGV[1], -1)
local whole = #raw - #raw % 3
if whole == 0 then return {0, {}} end
redis.call('LTRIM', KEYS[1], 0, -whole - 1)
local out = {}
for i = #raw, #raw - whole + 1, -1 do out[#out + 1] = raw[i] end
redis.call('HSET', KEYS[2], ARGV[2], cmsgpack.pack(out))
return {math.floor(redis.call('LLEN', KEYS[1]) / 3), out}
)lua";

/// What of a Queue is in flight. KEYS: list, in-flight hash. Answer: {entries pending, {batch, {key, value, operation, ...}, ...}}.
inline constexpr std::string_view kRecoverQueue = R"lua(
local batches = redis.call('HGETALL', KEYS[2])
local out, n = {}, 0
for i = 1, #batches, 2 do
  out[n + 1], out[n + 2] = batches[i], cmsgpack.unpack(batches[i + 1])
  n = n + 2
end
return {math.floor(redis.call('LLEN', KEYS[1]) / 3), out}
)lua";

/// Marks the server that answers; the number grows when it is another one than the last. KEYS: the hash. ARGV: its run id. Answer: the
/// number. The number comes first: where it cannot be counted on, nothing is marked.
inline constexpr std::string_view kMarkEpoch = R"lua(
local known = redis.call('HMGET', KEYS[1], 'run_id', 'epoch')
if known[1] == ARGV[1] then return tonumber(known[2]) end
local epoch = redis.call('HINCRBY', KEYS[1], 'epoch', 1)
redis.call('HSET', KEYS[1], 'run_id', ARGV[1])
return epoch
)lua";

}  // namespace rondo::redis
