// Scripts: operations that must be atomic in Redis. They follow Redis' rules for scripts: bounded by the batch, a fraction of a millisecond
// each. They are sent whole (EVAL): hashing a kilobyte costs the server less than one key, and a server that has forgotten its scripts
// needs no special case.
#pragma once

#include <cstdint>
#include <string_view>

namespace rondo::redis {

/// Defines clock() in a script, in seconds. Up to Redis 7.0 a script reads the time with TIME. Later versions freeze TIME during a script
/// but have os.clock, the CPU time. If the user lacks permission for TIME, the clock stands still, and no time limit applies.
#define RONDO_LUA_CLOCK                                  \
  "local os = rawget(_G, 'os')\n"                        \
  "local clock = os and os.clock or function()\n"        \
  "  local time = redis.pcall('TIME')\n"                 \
  "  return time.err and 0 or time[1] + time[2] / 1e6\n" \
  "end\n"

/// Defines batch() in a script: the content of a field of an in-flight hash. It returns nothing for a field that is not a batch of ours;
/// the field is then removed and reported. A batch is a number of at most 15 digits, which Lua and we count exactly, with a list, whose
/// list 'keys' (the content itself for nil) holds texts.
#define RONDO_LUA_BATCH                                                                                  \
  "local damaged = {}\n"                                                                                 \
  "local function batch(hash, number, packed, keys)\n"                                                   \
  "  local good, content = pcall(cmsgpack.unpack, packed)\n"                                             \
  "  good = good and type(content) == 'table' and #number <= 15 and string.find(number, '^[1-9]%d*$')\n" \
  "  local texts = good and content\n"                                                                   \
  "  if good and keys then texts = content[keys] end\n"                                                  \
  "  good = good and type(texts) == 'table'\n"                                                           \
  "  for _, text in ipairs(good and texts or {}) do good = good and type(text) == 'string' end\n"        \
  "  if good then return content end\n"                                                                  \
  "  damaged[#damaged + 1] = number\n"                                                                   \
  "  redis.call('HDEL', hash, number)\n"                                                                 \
  "end\n"

/// The fence of a script: it does nothing if the lease is not 'value' any more. Without a lease the key is not passed.
#define RONDO_LUA_FENCE(key, value)                                                             \
  "if KEYS[" #key "] and redis.call('GET', KEYS[" #key "]) ~= ARGV[" #value                     \
  "] then\n"                                                                                    \
  "  return redis.error_reply('FENCED another store may consume the tables of the database')\n" \
  "end\n"

/// Defines refusal() in a script: an error if the user may not make one of these calls, checked without making them. What a script has
/// written before a refused call remains written. Redis has this check since 7.0.
#define RONDO_LUA_REFUSAL                                                                                     \
  "local function refusal(calls)\n"                                                                           \
  "  for _, each in ipairs(redis.acl_check_cmd and calls or {}) do\n"                                         \
  "    if not redis.acl_check_cmd(unpack(each)) then\n"                                                       \
  "      return redis.error_reply('NOPERM this user may not run ' .. each[1] .. ' on the key ' .. each[2])\n" \
  "    end\n"                                                                                                 \
  "  end\n"                                                                                                   \
  "end\n"

/// Pops a batch of a Staged table.
///
/// KEYS: pending set, deleted set, in-flight hash; with a fence the lease. ARGV: row prefix, staging prefix, most keys, number of this
/// batch, most bytes, "1" to rename staged hashes that become new rows, most seconds, "0", "1" or "2" (see below), the value of the
/// lease, then the numbers of batches that were acknowledged. ARGV[8] is "0" to answer with the fields that were set, "1" with whole rows,
/// "2" with whole rows of which the caller reads those that have further fields: a read by the caller costs the server less than one here.
///
/// Answer: {keys left, {key, 1 if the row was deleted first, what was set, ...}}. "What was set" is a list of fields and values. It is a
/// number if the caller must read the row: 1 for a new row, 2 for an existing one. It is nil if nothing was set. Further fields of a whole
/// row count as bytes, too.
///
/// A batch ends with the key whose fields exceed the bytes or the time; the keys behind it wait again. The time is checked at every eighth
/// key and after each large one (an eighth of the bytes). A renamed hash is not read here. Each name or value counts 32 bytes more than its
/// size, because many small ones take as long as a few large ones. After eight rows with further fields in succession, seven of
/// eight are left to the caller without a look at their size, until one has none.
///
/// A key of another type under one of our names is detected before anything is popped, and so is a call that the user may not make and
/// without which keys would be lost. Another refusal breaks the pop off. The keys are in flight by then, and those whose staged hash is
/// left wait again after the recovery. The recovery reports their Deletes, so their rows must be deleted: nothing throws between the
/// in-flight record and the DEL.
inline constexpr std::string_view kPopStaged = RONDO_LUA_FENCE(4, 9) RONDO_LUA_CLOCK RONDO_LUA_REFUSAL R"lua(
if redis.replicate_commands then redis.replicate_commands() end
local call, try = redis.call, redis.pcall
local stop = clock() + ARGV[7]
if #ARGV > 9 then call('HDEL', KEYS[3], unpack(ARGV, 10)) end
call('HLEN', KEYS[3])
local marks = call('SCARD', KEYS[2])
local any_row, any_staged = ARGV[1] .. '0', ARGV[2] .. '0'
local refused = refusal({{'SREM', KEYS[2], 0}, {'HSET', KEYS[3], 1, 1}, {'DEL', any_staged}, {'DEL', any_row}, {'EXISTS', any_row},
  {'HSET', any_row, 1, 1}})
if refused then return refused end
local keys = call('SPOP', KEYS[1], ARGV[3])
if #keys == 0 then return {0, {}} end
local gone = false
if marks > 0 then
  gone = {}
  for i, key in ipairs(keys) do gone[i] = call('SREM', KEYS[2], key) end
end
call('HSET', KEYS[3], ARGV[4], cmsgpack.pack({keys, gone}))
local out, n, rows, sets, used = {}, 0, {}, {}, {}
local bytes = 0
local function count(fields)
  bytes = bytes + 32 * #fields
  for f = 1, #fields do bytes = bytes + #fields[f] end
end
local function overlay(row, fields)
  for f = 1, #fields, 2000 do
    if type(try('HSET', row, unpack(fields, f, math.min(f + 1999, #fields)))) == 'table' then return false end
  end
  return #fields > 0
end
local partial = 0
local function whole(row, fields)
  if ARGV[8] == '2' and partial >= 8 and partial % 8 ~= 0 and #fields > 0 then
    partial = partial + 1
    return 2
  end
  local size = try('HLEN', row)
  if type(size) == 'table' or 2 * size <= #fields then
    partial = 0
    return fields
  end
  partial = partial + 1
  if ARGV[8] == '2' then return 2 end
  local all = try('HGETALL', row)
  if all.err then return fields end
  count(all)
  return all
end
local hits, misses, most, kept, broken = 0, 0, tonumber(ARGV[5]), #keys, nil
local look = most / 8
for i, key in ipairs(keys) do
  local staged, row = ARGV[2] .. key, ARGV[1] .. key
  local deleted = gone and gone[i] or 0
  local set = nil
  if ARGV[6] == '1' and deleted == 0 and misses <= hits + 8 then
    if try('RENAMENX', staged, row) == 1 then
      set = 1
      hits = hits + 1
    else
      misses = misses + 1
    end
  end
  if not set then
    local fields = try('HGETALL', staged)
    if fields.err then
      if not string.find(fields.err, 'WRONGTYPE', 1, true) then
        broken = fields
        break
      end
      used[#used + 1] = staged
      fields = {}
    elseif #fields > 0 then
      used[#used + 1] = staged
      count(fields)
    end
    if #fields > 0 or deleted == 0 then
      set = fields
      if deleted == 1 or not overlay(row, fields) then rows[#rows + 1], sets[#sets + 1] = row, fields end
      if deleted == 0 and ARGV[8] ~= '0' then set = whole(row, fields) end
    end
  end
  out[n + 1], out[n + 2], out[n + 3] = key, deleted, set or false
  n = n + 3
  local late = false
  if i % 8 == 0 or bytes > look then
    late = clock() > stop
    look = bytes + most / 8
  end
  if late or bytes > most then
    kept = i
    break
  end
end
if kept < #keys then
  local back = try('SADD', KEYS[1], unpack(keys, kept + 1))
  if type(back) == 'table' then broken, kept = back, #keys end
end
if gone then
  local old, marked = {}, {}
  for i, key in ipairs(keys) do
    if gone[i] == 1 and i <= kept then old[#old + 1] = ARGV[1] .. key end
    if gone[i] == 1 and i > kept then marked[#marked + 1] = key end
  end
  if #old > 0 then call('DEL', unpack(old)) end
  if #marked > 0 then call('SADD', KEYS[2], unpack(marked)) end
end
if broken then return broken end
if kept < #keys then
  for i = #keys, kept + 1, -1 do
    keys[i] = nil
    if gone then gone[i] = nil end
  end
  call('HSET', KEYS[3], ARGV[4], cmsgpack.pack({keys, gone}))
end
local function put(row, fields)
  for i = 1, #fields, 2000 do
    local answer = try('HSET', row, unpack(fields, i, math.min(i + 1999, #fields)))
    if type(answer) == 'table' and answer.err then
      call('DEL', row)
      call('HSET', row, unpack(fields, i, math.min(i + 1999, #fields)))
    end
  end
end
for i, row in ipairs(rows) do
  put(row, sets[i])
  if #sets[i] == 0 and call('EXISTS', row) == 0 then call('HSET', row, 'NULL', 'NULL') end
end
if #used > 0 then call('DEL', unpack(used)) end
return {call('SCARD', KEYS[1]), out}
)lua";

/// Returns batches in flight of a Staged table. A key whose pop was broken off in the middle (its staged hash still exists) waits again. If
/// such a key has no row yet and had no Delete, the recovery reports nothing of it.
///
/// KEYS: pending set, in-flight hash; with a fence the lease. ARGV: staging prefix, row prefix, most seconds, the value of the lease, then
/// fields of the in-flight hash. Answer: {keys pending, {batch, {keys}, {deleted}, ...}, {fields that are no batch}, number of fields for
/// which there was time, at least the first}.
inline constexpr std::string_view kRecoverStaged = RONDO_LUA_FENCE(3, 4) RONDO_LUA_CLOCK RONDO_LUA_BATCH R"lua(
local out, n, seen, stop = {}, 0, 0, clock() + ARGV[3]
for i = 5, #ARGV do
  local packed = redis.call('HMGET', KEYS[2], ARGV[i])[1]
  local content = packed and batch(KEYS[2], ARGV[i], packed, 1)
  local keys, gone = {}, {}
  for k, key in ipairs(content and content[1] or {}) do
    local deleted = type(content[2]) == 'table' and content[2][k] == 1 and 1 or 0
    local again = redis.call('EXISTS', ARGV[1] .. key) == 1
    if again then redis.call('SADD', KEYS[1], key) end
    if not again or deleted == 1 or redis.call('EXISTS', ARGV[2] .. key) == 1 then
      keys[#keys + 1], gone[#gone + 1] = key, deleted
    end
  end
  if content then
    out[n + 1], out[n + 2], out[n + 3] = ARGV[i], keys, gone
    n = n + 3
  end
  seen = seen + 1
  if clock() > stop then break end
end
return {redis.call('SCARD', KEYS[1]), out, damaged, seen}
)lua";

/// See kReadWritten.
inline constexpr std::int64_t kOtherType = 4;

/// Returns the rows of a Staged table and their waiting changes.
///
/// KEYS: pending set, deleted set. ARGV: row prefix, staging prefix, most seconds, then the keys. Answer, for each key for which there was
/// time, and at least the first four: 0 if nothing waits, 1 if a change waits, 2 if a Delete waits; the row's fields and values, none if
/// they will be deleted; the staged fields and values. A key of another type is not a row, and stages nothing; kOtherType is added to the
/// number if the row is of another type.
inline constexpr std::string_view kReadWritten = RONDO_LUA_CLOCK R"lua(
local out, n, stop, other = {}, 0, clock() + ARGV[3], 0
local function fields(hash)
  local found = redis.pcall('HGETALL', hash)
  if found.err then
    if string.find(found.err, 'WRONGTYPE', 1, true) then other = 4 end
    return {}
  end
  return found
end
for i = 4, #ARGV do
  local waits = redis.call('SISMEMBER', KEYS[1], ARGV[i])
  if waits == 1 then waits = 1 + redis.call('SISMEMBER', KEYS[2], ARGV[i]) end
  other = 0
  out[n + 2] = waits < 2 and fields(ARGV[1] .. ARGV[i]) or {}
  out[n + 1] = waits + other
  out[n + 3] = waits > 0 and fields(ARGV[2] .. ARGV[i]) or {}
  n = n + 3
  if i % 4 == 3 and clock() > stop then break end
end
return out
)lua";

/// Pops entries of a Queue, oldest first.
///
/// KEYS: list, in-flight hash; with a fence the lease. ARGV: most entries, number of this batch, most bytes, most seconds, the value of the
/// lease, then the numbers of batches that were acknowledged. Answer: {entries left, {key, value, operation, ...}}. A batch ends with the
/// entry that exceeds the bytes or the time. The script reads one entry, then four, then sixteen at a time: with large entries, larger
/// reads would copy data that is not used.
inline constexpr std::string_view kPopQueue = RONDO_LUA_FENCE(3, 5) RONDO_LUA_CLOCK RONDO_LUA_REFUSAL R"lua(
if redis.replicate_commands then redis.replicate_commands() end
local call = redis.call
call('HLEN', KEYS[2])
local stop = clock() + ARGV[4]
if #ARGV > 5 then call('HDEL', KEYS[2], unpack(ARGV, 6)) end
local out, n, bytes, all, most, step = {}, 0, 0, 3 * ARGV[1], tonumber(ARGV[3]), 3
repeat
  if step > all - n then step = all - n end
  local raw = call('LRANGE', KEYS[1], -n - step, -n - 1)
  for i = #raw, 3, -3 do
    local value = raw[i - 1]
    out[n + 1], out[n + 2], out[n + 3] = raw[i], value, raw[i - 2]
    bytes = bytes + #value
    n = n + 3
    if bytes > most then break end
  end
  local short = #raw < step
  step = math.min(4 * step, 48)
until short or n >= all or bytes > most or clock() > stop
if n == 0 then return {0, {}} end
local refused = refusal({{'LTRIM', KEYS[1], 0, 0}, {'HSET', KEYS[2], 1, 1}})
if refused then return refused end
call('LTRIM', KEYS[1], 0, -n - 1)
call('HSET', KEYS[2], ARGV[2], cmsgpack.pack(out))
return {math.floor(call('LLEN', KEYS[1]) / 3), out}
)lua";

/// Returns batches in flight of a Queue. KEYS: list, in-flight hash; with a fence the lease. ARGV: most seconds, the value of the lease,
/// then fields of the in-flight hash. Answer: {entries pending, {batch, {key, value, operation, ...}, ...}, {fields that are no batch},
/// number of fields for which there was time, at least the first}.
inline constexpr std::string_view kRecoverQueue = RONDO_LUA_FENCE(3, 2) RONDO_LUA_CLOCK RONDO_LUA_BATCH R"lua(
local out, n, seen, stop = {}, 0, 0, clock() + ARGV[1]
for i = 3, #ARGV do
  local packed = redis.call('HMGET', KEYS[2], ARGV[i])[1]
  local content = packed and batch(KEYS[2], ARGV[i], packed)
  if content then
    out[n + 1], out[n + 2] = ARGV[i], content
    n = n + 2
  end
  seen = seen + 1
  if clock() > stop then break end
end
return {math.floor(redis.call('LLEN', KEYS[1]) / 3), out, damaged, seen}
)lua";

/// Acknowledges batches. KEYS: in-flight hash, the lease. ARGV: the value of the lease, then the numbers. Answer: how many batches there
/// were.
inline constexpr std::string_view kAcknowledge = RONDO_LUA_FENCE(2, 1) R"lua(
return redis.call('HDEL', KEYS[1], unpack(ARGV, 2))
)lua";

/// Shortens a batch in flight of a Queue: the entries that its consumer has dealt with go. KEYS: in-flight hash; with a fence the lease.
/// ARGV: the value of the lease, the number of the batch, how many of its last entries stay. Answer: 0.
inline constexpr std::string_view kKeepQueue = RONDO_LUA_FENCE(2, 1) RONDO_LUA_BATCH R"lua(
local packed = redis.call('HMGET', KEYS[1], ARGV[2])[1]
local content = packed and batch(KEYS[1], ARGV[2], packed)
if content and #content > 3 * ARGV[3] then
  redis.call('HSET', KEYS[1], ARGV[2], cmsgpack.pack({unpack(content, #content - 3 * ARGV[3] + 1)}))
end
return 0
)lua";

/// Applies a Queue's entries to its rows. KEYS: the lease. ARGV: its value; then for each entry the row's key, the number of words of
/// fields that follow (0: delete the row), and these words. Answer: 0. A key of another type is left.
inline constexpr std::string_view kWriteRows = RONDO_LUA_FENCE(1, 1) R"lua(
local i = 2
while i < #ARGV do
  local row, words = ARGV[i], tonumber(ARGV[i + 1])
  i = i + 2
  local answer
  if words == 0 then answer = redis.pcall('DEL', row) end
  for f = i, i + words - 1, 2000 do
    answer = redis.pcall('HSET', row, unpack(ARGV, f, math.min(f + 1999, i + words - 1)))
    if type(answer) == 'table' and answer.err then break end
  end
  if type(answer) == 'table' and answer.err and not string.find(answer.err, 'WRONGTYPE', 1, true) then return answer end
  i = i + words
end
return 0
)lua";

/// Takes the lease, or renews it.
///
/// KEYS: the lease, the epoch's hash. ARGV: the requesting holder; milliseconds; the token that it holds or held last (0: none); the lease
/// value of a terminated holder, if any. Answer: {token, ""}, or {0, value of the other holder}.
///
/// A holder also gets {0, ...} if its lease expired and another store held it in between: what it has taken since is not its own. A holder
/// whose lease only expired keeps its token. If a server has lost the token (a fail-over), the next token is greater than any that a holder
/// knows.
///
/// A stored token that our scripts did not write counts as lost: the answer is {token, what was stored}. Our tokens are whole numbers of at
/// most 12 digits, which Lua counts and writes exactly. This is safe, because a lease is compared as a whole and its holder's name is
/// unique. Values longer than any of ours are not sent.
inline constexpr std::string_view kTakeLease = R"lua(
local call, me, held = redis.call, ARGV[1], tonumber(ARGV[3])
local function cut(text)
  if #text <= 512 then return text end
  return 'another program (a value of ' .. #text .. ' bytes)'
end
local function other_type(key, answer, due)
  if type(answer) ~= 'table' or not answer.err or not string.find(answer.err, 'WRONGTYPE', 1, true) then return nil end
  local kind = redis.pcall('TYPE', key)
  return redis.error_reply('WRONGTYPE the key ' .. key .. ' has ' .. (kind.ok and 'the type ' .. kind.ok or 'another type') ..
    ' and must be a ' .. due)
end
local now = redis.pcall('GET', KEYS[1])
local wrong = other_type(KEYS[1], now, 'string') or other_type(KEYS[2], redis.pcall('HMGET', KEYS[2], 'lease'), 'hash')
if wrong then return wrong end
if type(now) == 'table' then now = call('GET', KEYS[1]) end  -- Raises the error.
local mine = now and string.match(now, '^([1-9]%d*) ')
if mine and #mine <= 13 and now == mine .. ' ' .. me then
  call('PEXPIRE', KEYS[1], ARGV[2])
  return {tonumber(mine), ''}
end
if now and now ~= ARGV[4] then
  redis.pcall('PEXPIRE', KEYS[1], ARGV[2], 'NX')
  return {0, cut(now)}
end
local known = call('HMGET', KEYS[2], 'lease', 'lease_holder')
local stored, last, damage = known[1] or '0', known[2], ''
if #stored > 12 or not string.match(stored, '^%d+$') then stored, damage = '0', cut(stored) end
local token = tonumber(stored)
if held > 0 and last and last ~= me then return {0, stored .. ' ' .. cut(last)} end
if last ~= me or token < held or token == 0 then
  token = math.max(token, held) + 1
  call('HSET', KEYS[2], 'lease', token, 'lease_holder', me)
end
call('SET', KEYS[1], token .. ' ' .. me, 'PX', ARGV[2])
return {token, damage}
)lua";

/// Releases the lease. KEYS: the lease. ARGV: its value. Answer: the number of leases released.
inline constexpr std::string_view kReleaseLease = R"lua(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
)lua";

/// Marks the server that executes the script; the number grows if it is another server than the last one, or if its data is lost. KEYS: the
/// hash. ARGV: its run id; the number that the caller knows (0: none), which the new one exceeds. Answer: the number. The number is written
/// first: if the script cannot increment it, nothing is marked.
inline constexpr std::string_view kMarkEpoch = R"lua(
local known = redis.call('HMGET', KEYS[1], 'run_id', 'epoch')
if known[1] == ARGV[1] then return tonumber(known[2]) end
local epoch = redis.call('HINCRBY', KEYS[1], 'epoch', 1)
if epoch <= tonumber(ARGV[2]) then
  epoch = redis.call('HINCRBY', KEYS[1], 'epoch', tonumber(ARGV[2]) + 1 - epoch)
end
redis.call('HSET', KEYS[1], 'run_id', ARGV[1])
return epoch
)lua";

#undef RONDO_LUA_REFUSAL
#undef RONDO_LUA_FENCE
#undef RONDO_LUA_BATCH
#undef RONDO_LUA_CLOCK

}  // namespace rondo::redis
