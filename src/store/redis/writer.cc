#include "store/redis/writer.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "store/redis/wire_json.h"

namespace rondo::redis {

namespace {
/// Writes, and so keys, of one transaction. A stock consumer pops as many keys for each notification, so one notification per transaction
/// is enough.
constexpr std::size_t kBatchWrites = 128;
/// Bytes of one transaction; larger ones hold the server for long.
constexpr std::size_t kBatchBytes = 256 * 1024;
/// Outstanding batches: more would not be faster, and waiting writes still merge.
constexpr std::size_t kUnderWay = 16;
constexpr std::size_t kUnsentBytes = 1024 * 1024;

bool may_repeat(TableKind kind) { return kind == TableKind::Staged || kind == TableKind::Watched; }
}  // namespace

void Writer::add(Target& target, Change change, WriteDone done) {
  bytes_ += change.record().bytes();
  ++unanswered_;
  ++stats_.writes;
  pending_.push_back({.target = &target, .change = std::move(change), .done = std::move(done), .number = stats_.writes});
  if (commands_.is_connected()) commands_.wake();
}

void Writer::when_answered(std::function<void(const Status& lost)> told) {
  if (unanswered() == 0) return told({});
  waiting_.push_back({finished_ + unanswered(), std::move(told)});
}

void Writer::send() {
  if (!trouble_.ok()) return;
  while (!pending_.empty() && under_way_.size() < kUnderWay && commands_.unsent_bytes() < kUnsentBytes) {
    send_batch();  // Send at least one: a constant stream of answers must not stop the writes.
    if (commands_.turn_is_over()) break;
  }
  if (!pending_.empty() && under_way_.size() < kUnderWay && commands_.unsent_bytes() < kUnsentBytes) commands_.wake();
}

/// A Set stays in one batch with the Delete of its key before it, beyond the limits if necessary. So no client sees a replaced row absent,
/// and it does not stay deleted if the process ends here.
std::shared_ptr<Writer::Batch> Writer::next_batch() {
  auto batch = std::make_shared<Batch>();
  batch->writes.reserve(std::min(pending_.size(), kBatchWrites + 1));
  std::size_t bytes = 0;
  const auto replaces = [](const Write& last, const Write& next) {
    return last.change.op() == ChangeOp::Delete && next.change.op() == ChangeOp::Set && last.target == next.target &&
           last.change.key() == next.change.key();
  };
  while (!pending_.empty()) {
    Write& next = pending_.front();
    const bool room = batch->writes.size() < kBatchWrites && bytes < kBatchBytes;
    if (!room && !replaces(batch->writes.back(), next)) break;
    bytes += next.change.record().bytes();
    batch->writes.push_back(std::move(next));
    pending_.pop_front();
  }
  return batch;
}

void Writer::send_batch() {
  const std::shared_ptr<Batch> batch = next_batch();
  under_way_.push_back(batch);
  std::vector<Group> groups;  // A batch rarely has writes of many tables.
  const auto flush = [&] {
    for (const Group& group : groups) write_group(group, batch);
    groups.clear();
  };
  for (Write& write : batch->writes) {
    if (write.target->spec.kind != TableKind::Staged) {
      flush();
      write.part = add_part(*batch);
      write_single(write, batch);
      continue;
    }
    auto group = std::ranges::find(groups, write.target, &Group::target);
    if (group == groups.end()) {
      group = groups.emplace(groups.end());
      group->keys.reserve(batch->writes.size());
      group->target = write.target;
      group->part = add_part(*batch);
    }
    write.part = group->part;
    merge(*group, write);
  }
  flush();
  if (options_.replicas > 0) write_wait(batch);
}

std::uint32_t Writer::add_part(Batch& batch) {
  batch.outcomes.emplace_back();
  return static_cast<std::uint32_t>(batch.outcomes.size() - 1);
}

/// The server answers when enough replicas have what was sent before. Until then, later requests on this connection wait.
void Writer::write_wait(const std::shared_ptr<Batch>& batch) {
  commands_.out().begin(3).word("WAIT").number(options_.replicas).number(options_.replicas_timeout / 1ms);
  ++batch->awaited;
  commands_.expect(1, shape::kCount, [this, batch](const Reply& reply, const Status&) {
    Status status;
    if (reply.is_error()) {
      status = status_of(reply, "WAIT");
    } else if (reply.integer() < options_.replicas) {
      status = Status{StatusCode::DeadlineExceeded, "written, but only " + std::to_string(reply.integer()) + " of " +
                                                        std::to_string(options_.replicas) + " replicas have it"};
    }
    answered(batch, kWhole, std::move(status));
  });
}

Writer::Group::Key& Writer::Group::at(const Record& record) {
  static_assert(kBatchWrites <= 128, "half of the slots stay free, and a place fits a byte");
  for (std::size_t slot = record.key_hash() % slots.size();; slot = (slot + 1) % slots.size()) {
    if (slots[slot] == 0) {
      keys.push_back({record.key(), false, {}});
      slots[slot] = static_cast<std::uint8_t>(keys.size());
      return keys.back();
    }
    if (Key& known = keys[slots[slot] - 1U]; known.key == record.key()) return known;
  }
}

void Writer::merge(Group& group, const Write& write) {
  const Change& change = write.change;
  Group::Key& key = group.at(change.record());
  if (write.deleted || change.op() == ChangeOp::Delete) {
    key.deleted = true;
    key.record = {};
  }
  if (change.op() == ChangeOp::Set) {
    key.record = key.record ? Record::merged(key.record, change.record()) : change.record();
  }
}

void Writer::write_group(const Group& group, const std::shared_ptr<Batch>& batch) {
  const TableKeys& keys = group.target->keys;
  const auto deleted = static_cast<std::size_t>(std::ranges::count_if(group.keys, &Group::Key::deleted));
  Commands& out = commands_.out();
  std::size_t answers = 5;
  out.command({"MULTI"});
  if (deleted > 0) {
    answers += 2;
    out.begin(1 + deleted).word("DEL");
    for (const Group::Key& key : group.keys) {
      if (key.deleted) out.word(keys.staging, key.key);
    }
    out.begin(2 + deleted).word("SADD").word(keys.deleted);
    for (const Group::Key& key : group.keys) {
      if (key.deleted) out.word(key.key);
    }
  }
  out.begin(2 + group.keys.size()).word("SADD").word(keys.pending);
  for (const Group::Key& key : group.keys) out.word(key.key);
  for (const Group::Key& key : group.keys) {
    if (!key.record) continue;
    ++answers;
    const Fields fields = key.record.fields();
    out.begin(2 + 2 * std::max<std::size_t>(1, fields.size())).word("HSET").word(keys.staging, key.key);
    for (const Field field : fields) out.word(field.name).word(field.value);
    if (fields.empty()) out.word(kNoField).word(kNoField);
  }
  const std::size_t notifications = options_.notify_each_key ? group.keys.size() : 1;
  answers += notifications - 1;
  for (std::size_t i = 1; i < notifications; ++i) out.command({"PUBLISH", keys.channel, "G"});
  out.command({"SCARD", keys.pending});
  out.command({"PUBLISH", keys.channel, "G"});
  out.command({"EXEC"});
  expect(answers, batch, group.part, group.target);
}

void Writer::write_single(const Write& write, const std::shared_ptr<Batch>& batch) {
  const TableKeys& keys = write.target->keys;
  const Change& change = write.change;
  Commands& out = commands_.out();
  switch (write.target->spec.kind) {
    case TableKind::Watched: {
      if (change.op() == ChangeOp::Delete) {
        out.begin(2).word("DEL").word(keys.rows, change.key());
      } else {
        if (write.deleted) {  // In one transaction: a watcher need not see the row deleted and set again.
          out.command({"MULTI"});
          out.begin(2).word("DEL").word(keys.rows, change.key());
        }
        out.begin(2 + 2 * std::max<std::size_t>(1, change.fields().size())).word("HSET").word(keys.rows, change.key());
        for (const Field field : change.fields()) out.word(field.name).word(field.value);
        if (change.fields().empty()) out.word(kNoField).word(kNoField);
        if (write.deleted) out.command({"EXEC"});
      }
      expect(write.deleted ? 4 : 1, batch, write.part, nullptr);
      return;
    }
    case TableKind::Channel: {
      out.command({"PUBLISH", write.target->spec.name, event_text(change)});
      expect(1, batch, write.part, nullptr);
      return;
    }
    case TableKind::Queue: {
      out.command({"LPUSH", keys.queue, change.key(), fields_text(change), queue_operation(change)});
      expect(1, batch, write.part, write.target);
      out.command({"PUBLISH", keys.channel, "G"});
      expect(1, batch, write.part, nullptr);
      return;
    }
    case TableKind::Staged: return;  // Unreachable: send_batch() gathers these writes.
  }
}

void Writer::expect(std::size_t answers, const std::shared_ptr<Batch>& batch, std::uint32_t part, Target* counted) {
  ++batch->awaited;
  ++stats_.transactions;
  commands_.expect(answers, answers > 1 ? shape::kTransaction : shape::kCount,
                   [this, batch, part, counted](const Reply& reply, const Status& earlier) {
                     Status status = earlier;
                     if (status.ok() && reply.is_error()) status = status_of(reply, "a write");
                     for (const Reply& item : reply.items()) {
                       if (status.ok() && item.is_error()) status = status_of(item, "a write");
                     }
                     if (counted != nullptr && reply.kind() == Reply::Kind::Integer) {
                       counted->waiting = static_cast<std::size_t>(reply.integer()) / 3;          // LPUSH returns the list's length.
                     } else if (counted != nullptr && status.ok() && reply.items().size() > 2) {  // SCARD, the last answer but one.
                       counted->waiting = static_cast<std::size_t>(reply.items()[reply.items().size() - 2].integer());
                     }
                     answered(batch, part, std::move(status));
                   });
}

void Writer::answered(const std::shared_ptr<Batch>& batch, std::uint32_t part, Status status) {
  const bool refused = lacks_replicas(status);
  if (refused) trouble_ = status;
  // The server is unavailable: send the whole batch again, to this server or to the next one.
  if (status.code() == StatusCode::Unavailable && !refused) {
    commands_.give_up(std::move(status));
    return;
  }
  if (batch->outcomes[part].ok()) batch->outcomes[part] = std::move(status);
  if (--batch->awaited > 0) return;
  if (!trouble_.ok()) {  // Writes after a refused one may have been accepted, and must not be overtaken by it: send all of them again.
    if (std::ranges::all_of(under_way_, [](const auto& other) { return other->awaited == 0; })) send_again();
    return;
  }
  for (Write& write : batch->writes) finish(write, batch->outcome(write));
  std::erase(under_way_, batch);
  while (!waiting_.empty() && waiting_.front().finished <= finished_) {
    const Waiting waiting = std::move(waiting_.front());
    waiting_.pop_front();
    waiting.told({});
  }
  if (!pending_.empty()) commands_.wake();
}

void Writer::finish(Write& write, const Status& status) {
  bytes_ -= write.change.record().bytes();
  const Status told = status.ok() ? status : status.with_context("table " + quoted(write.target->spec.name));
  if (!write.again) return notify(std::move(write.done), told);
  if (write.carried != nullptr) {
    for (Ended& older : *write.carried) ended_.push_back({older.number, std::move(older.done), told});
  }
  ended_.push_back({write.number, std::move(write.done), told});
  if (--again_ > 0) return;
  std::ranges::sort(ended_, {}, &Ended::number);
  for (Ended& end : std::exchange(ended_, {})) notify(std::move(end.done), std::move(end.status));
}

void Writer::notify(WriteDone done, Status status) {
  --unanswered_;
  ++finished_;
  if (done) completions_.post(std::move(done), std::move(status));
}

/// Merges two writes of one key into 'newer'.
void Writer::absorb(Write& newer, Write& older) {
  bytes_ -= newer.change.record().bytes() + older.change.record().bytes();
  if (newer.change.op() == ChangeOp::Set && !newer.deleted) {
    newer.deleted = older.deleted || older.change.op() == ChangeOp::Delete;
    if (older.change.op() == ChangeOp::Set) newer.change = {ChangeOp::Set, Record::merged(older.change.record(), newer.change.record())};
  }
  bytes_ += newer.change.record().bytes();
  if (newer.carried == nullptr) newer.carried = std::make_unique<std::vector<Ended>>();
  if (older.carried != nullptr) std::ranges::move(*older.carried, std::back_inserter(*newer.carried));
  newer.carried->push_back({older.number, std::move(older.done), {}});
  older.target = nullptr;
}

void Writer::ask_waiting(Target& target) {
  if (!commands_.is_connected() || std::ranges::find(asked_, &target) != asked_.end()) return;
  asked_.push_back(&target);
  const bool queue = target.spec.kind == TableKind::Queue;
  commands_.out().command({queue ? "LLEN" : "SCARD", queue ? target.keys.queue : target.keys.pending});
  commands_.expect(1, shape::kCount, [this, &target, queue](const Reply& reply, const Status&) {
    std::erase(asked_, &target);
    if (reply.kind() == Reply::Kind::Integer) target.waiting = static_cast<std::size_t>(reply.integer()) / (queue ? 3 : 1);
  });
}

void Writer::tick() {
  if (trouble_.ok() || !under_way_.empty()) return;
  trouble_ = {};
  if (!pending_.empty()) commands_.wake();
}

void Writer::lost() {
  asked_.clear();
  trouble_ = {};
  send_again();
  for (const Waiting& waiting : std::exchange(waiting_, {})) waiting.told(commands_.trouble());
}

/// Moves the outstanding writes that may be repeated to the front of the waiting writes.
void Writer::send_again() {
  const Status unknown{StatusCode::DeadlineExceeded, "the connection was lost before the answer: whether it was written is unknown"};
  std::vector<Write> again;
  for (const std::shared_ptr<Batch>& batch : under_way_) {
    for (Write& write : batch->writes) {
      if (may_repeat(write.target->spec.kind)) {
        again.push_back(std::move(write));
        again.back().again = true;
      } else {
        finish(write, batch->awaited == 0 ? batch->outcome(write) : unknown);
      }
    }
  }
  under_way_.clear();
  // From the newest to the oldest: each key keeps the position of its last write.
  std::map<std::pair<const Target*, std::string>, Write*> newest;
  for (auto write = again.rbegin(); write != again.rend(); ++write) {
    const auto [known, first] = newest.try_emplace({write->target, std::string{write->change.key()}}, &*write);
    if (!first) absorb(*known->second, *write);
  }
  std::erase_if(again, [](const Write& write) { return write.target == nullptr; });
  pending_.insert(pending_.begin(), std::make_move_iterator(again.begin()), std::make_move_iterator(again.end()));
  again_ = static_cast<std::size_t>(std::ranges::count_if(pending_, &Write::again));
}

}  // namespace rondo::redis
