#include "store/redis/queue_subscription.h"

#include <algorithm>
#include <charconv>

#include "store/redis/scripts.h"
#include "store/redis/wire_json.h"

namespace rondo::redis {

void QueueSubscription::write_pop(std::size_t max, std::uint64_t number, const std::vector<std::uint64_t>& done) {
  Commands& out = link().commands.out();
  const std::string& fence = link().fence;
  out.begin((fence.empty() ? 10 : 11) + done.size()).word("EVAL").word(kPopQueue).word(fence.empty() ? "2" : "3");
  out.word(keys().queue).word(keys().inflight);
  if (!fence.empty()) out.word(kLeaseKey);
  out.number(max).number(number).number(kPopBytes).word(kPopSeconds).word(fence);
  for (const std::uint64_t batch : done) out.number(batch);
}

void QueueSubscription::write_recover(std::span<const std::string> fields) {
  Commands& out = link().commands.out();
  const std::string& fence = link().fence;
  out.begin((fence.empty() ? 7 : 8) + fields.size()).word("EVAL").word(kRecoverQueue).word(fence.empty() ? "2" : "3");
  out.word(keys().queue).word(keys().inflight);
  if (!fence.empty()) out.word(kLeaseKey);
  out.word(kPopSeconds).word(fence);
  for (const std::string& field : fields) out.word(field);
}

void QueueSubscription::write_count() {
  link().commands.out().command({"EVAL", "return math.floor(redis.call('LLEN', KEYS[1]) / 3)", "1", keys().queue});
}

bool QueueSubscription::write_keep(std::uint64_t number, std::size_t left) {
  Commands& out = link().commands.out();
  const std::string& fence = link().fence;
  out.begin(fence.empty() ? 7 : 8).word("EVAL").word(kKeepQueue).word(fence.empty() ? "1" : "2").word(keys().inflight);
  if (!fence.empty()) out.word(kLeaseKey);
  out.word(fence).number(number).number(left);
  return true;
}

void QueueSubscription::read_popped(const Reply& content, Batch& batch) {
  const std::span<const Reply> items = content.items();
  for (std::size_t i = 0; i + 2 < items.size(); i += 3) {
    Result<Change> change = parse_entry(items[i].text(), items[i + 1].text(), items[i + 2].text());
    if (!change) {
      ++stats().malformed;
      stats().last_damage = "an entry of " + quoted(keys().queue) + ": " + std::string{change.error().message()};
      continue;
    }
    Entry& entry = batch.entries.emplace_back();
    entry.key = items[i].text();
    entry.left = items.size() / 3 - i / 3 - 1;
    entry.deleted = change->op() == ChangeOp::Delete;
    if (!entry.deleted) entry.change = std::move(*change);
    // As in SONiC's script, the letter decides what happens to the row, even if the word after it means something else.
    const bool of_row = names_row(items[i + 2].text().substr(1));
    entry.removes_row = of_row && items[i + 2].text().starts_with('D');
    entry.sets_row = of_row && !entry.removes_row;
  }
}

std::vector<SingleConsumerSubscription::Batch> QueueSubscription::read_recovered(const Reply& content) {
  std::vector<Batch> batches;
  const std::span<const Reply> items = content.items();
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    Batch& batch = batches.emplace_back();
    const std::string_view number = items[i].text();
    std::from_chars(number.data(), number.data() + number.size(), batch.number);
    read_popped(items[i + 1], batch);
  }
  return batches;
}

void QueueSubscription::complete(Batch& batch) {
  if (!link().fence.empty()) return complete_fenced(batch);
  Commands& out = link().commands.out();
  std::size_t answers = 0;
  for (const Entry& entry : batch.entries) {
    if (!entry.sets_row && !entry.removes_row) continue;
    ++answers;
    if (entry.removes_row) {
      out.begin(2).word("DEL").word(keys().queue_rows(entry.key), entry.key);
      continue;
    }
    const Fields fields = entry.change.fields();
    out.begin(2 + 2 * std::max<std::size_t>(1, fields.size())).word("HSET").word(keys().queue_rows(entry.key), entry.key);
    for (const Field field : fields) out.word(field.name).word(field.value);
    if (fields.empty()) out.word(kNoField).word(kNoField);
  }
  if (answers == 0) return;
  const auto written = [this](const Reply& reply) {
    // The batch is in flight and is completed again later. A row that no connection can write, such as a key of another type, is left.
    if (reply.is_error() && status_of(reply, "a row").code() == StatusCode::Unavailable) failed(reply, "writing rows");
  };
  ask(answers, shape::kCount, written, true);
}

void QueueSubscription::complete_fenced(const Batch& batch) {
  std::size_t words = 0;
  for (const Entry& entry : batch.entries) {
    if (entry.removes_row) words += 2;
    if (entry.sets_row) words += 2 + 2 * std::max<std::size_t>(1, entry.change.fields().size());
  }
  if (words == 0) return;
  Commands& out = link().commands.out();
  out.begin(5 + words).word("EVAL").word(kWriteRows).word("1").word(kLeaseKey).word(link().fence);
  for (const Entry& entry : batch.entries) {
    if (!entry.sets_row && !entry.removes_row) continue;
    const Fields fields = entry.sets_row ? entry.change.fields() : Fields{};
    out.word(keys().queue_rows(entry.key), entry.key);
    out.number(entry.removes_row ? 0 : 2 * std::max<std::size_t>(1, fields.size()));
    for (const Field field : fields) out.word(field.name).word(field.value);
    if (entry.sets_row && fields.empty()) out.word(kNoField).word(kNoField);
  }
  ask(1, shape::kCount, [this](const Reply& reply) {
    if (reply.is_error()) failed(reply, "writing rows");
  });
}

}  // namespace rondo::redis
