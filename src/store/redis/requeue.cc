#include "store/redis/requeue.h"

namespace rondo::redis {

namespace {

/// Keys looked at in one step; a part of a millisecond of the server.
constexpr std::string_view kPage = "256";

/// KEYS: pending set, deleted set. ARGV: row prefix, staging prefix, channel, then the keys. Answer: rows that wait now.
/// A field that is staged is newer than the row's. A row that is to be deleted first is not brought back. The field that stands for "no
/// fields" is left out where there are others.
constexpr std::string_view kScript = R"lua(
if redis.replicate_commands then redis.replicate_commands() end
local staged = 0
for i = 4, #ARGV do
  local row, stage = ARGV[1] .. ARGV[i], ARGV[2] .. ARGV[i]
  local fields = redis.pcall('HGETALL', row)
  if not fields.err and #fields > 0 and redis.call('SISMEMBER', KEYS[2], ARGV[i]) == 0 then
    if redis.call('EXISTS', stage) == 0 then
      for n = 1, #fields, 2000 do
        redis.call('HSET', stage, unpack(fields, n, math.min(n + 1999, #fields)))
      end
    else
      for n = 1, #fields, 2 do
        if fields[n] ~= 'NULL' then redis.pcall('HSETNX', stage, fields[n], fields[n + 1]) end
      end
    end
    redis.call('SADD', KEYS[1], ARGV[i])
    staged = staged + 1
  end
end
if staged > 0 then redis.call('PUBLISH', ARGV[3], 'G') end
return staged
)lua";

}  // namespace

Requeue::Requeue(Scheduler& scheduler, const RedisAddress& address, char separator, const std::vector<std::string>& tables,
                 Priority priority)
    : connection_(scheduler, address, {.name = "requeue", .priority = priority, .master_only = !address.sentinels.empty()}, *this) {
  for (const std::string& table : tables) tables_.emplace_back(table, separator, address.database);
  if (address.sentinels.empty()) {
    connection_.start();
    return;
  }
  const auto found = [this](const RedisAddress& master) {
    connection_.set_address(master);
    connection_.start();
  };
  finder_ =
      std::make_unique<SentinelFinder>(scheduler, ConnectionOptions{.name = "requeue:sentinel", .priority = priority}, address, found);
  finder_->find();
}

void Requeue::connected(Connection&) {
  if (done_) return;
  rows_ = 0;
  refused_ = Status{};
  scan("0");
}

void Requeue::lost(Connection&, const Status&, bool) {
  unanswered_ = 0;
  if (finder_ != nullptr && !done_) finder_->find();
}

void Requeue::scan(std::string_view cursor) {
  connection_.out().command({"SCAN", cursor, "COUNT", kPage});
  connection_.expect(1, [this](const Reply& reply, const Status&) { scanned(reply); });
}

bool Requeue::retries(const Reply& reply, std::string_view what) {
  if (!reply.is_error()) return false;
  Status why = status_of(reply, what);
  if (why.code() == Code::Unavailable) {
    connection_.give_up(std::move(why));
    return true;
  }
  refused_ = std::move(why);
  return false;
}

void Requeue::scanned(const Reply& reply) {
  if (retries(reply, "SCAN")) return;
  if (reply.is_error() || reply.items().size() != 2) {
    done_ = true;
    return;
  }
  cursor_ = reply.items()[0].text();
  const std::span<const Reply> names = reply.items()[1].items();
  for (const TableKeys& table : tables_) {
    std::vector<std::string> keys;
    for (const Reply& name : names) {
      if (name.text().starts_with(table.rows)) keys.emplace_back(name.text().substr(table.rows.size()));
    }
    if (!keys.empty()) stage(table, keys);
  }
  if (unanswered_ == 0) page_done();
}

void Requeue::stage(const TableKeys& table, const std::vector<std::string>& keys) {
  Commands& out = connection_.out();
  out.begin(8 + keys.size()).word("EVAL").word(kScript).word("2").word(table.pending).word(table.deleted);
  out.word(table.rows).word(table.staging).word(table.channel);
  for (const std::string& key : keys) out.word(key);
  ++unanswered_;
  connection_.expect(1, [this](const Reply& reply, const Status&) {
    if (retries(reply, "staging rows again")) return;
    rows_ += static_cast<std::size_t>(reply.integer());
    if (--unanswered_ == 0) page_done();
  });
}

void Requeue::page_done() {
  if (cursor_ != "0") return scan(cursor_);
  done_ = true;
}

}  // namespace rondo::redis
