#include "store/redis/staged_subscription.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "store/redis/scripts.h"

namespace rondo::redis {

namespace {
/// A pop of fewer keys returns their rows directly, in one round trip.
constexpr std::size_t kReadFrom = 32;
constexpr unsigned kRenamePause = 32;

std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}
/// Rows per atomic step in Redis; the step also ends after kPageSeconds.
constexpr std::size_t kPageRows = 256;
constexpr std::string_view kPageSeconds = "0.001";
}  // namespace

// --- standing rows and requeued rows

void StagedSubscription::use(const SubscribeOptions& options) {
  rows_ = options.rows;
  walk_ = options.standing_rows ? Walk::ToBegin : Walk::Ended;
  delivered_.clear();
  wait_for_empty(options.standing_rows);
  go_offline();  // Requests of an earlier consumer are void: its rows stand in the table, and its Deletes are in flight.
  if (options.standing_rows) {
    forget_fetched();
  } else {
    forget_read();
  }
}

void StagedSubscription::closed() {
  SingleConsumerSubscription::closed();
  again_.clear();
}

void StagedSubscription::broke_off() {
  if (walk_ == Walk::UnderWay) walk_ = Walk::ToBegin;
  found_.clear();
  page_asked_ = again_asked_ = walk_stopped_ = false;
}

/// An entry that an earlier process had in flight. The walk delivers a standing row.
void StagedSubscription::row_recovered(Entry& entry) {
  if (walk_ == Walk::Ended) return;
  if (entry.deleted) {
    delivered_.insert(entry.key);
  } else {
    entry.left_out = true;
  }
}

bool StagedSubscription::goes_before_pops() {
  if (walk_ == Walk::Ended) return false;
  if (walk_stopped_ || page_asked_ || !has_room()) return true;
  if (walk_ == Walk::ToBegin) {
    walk_ = Walk::UnderWay;
    cursor_ = "0";
    bound_.begin();
    ask_keys();
    return true;
  }
  if (!found_.empty()) {
    page_asked_ = true;
    const auto count = static_cast<std::ptrdiff_t>(std::min(found_.size(), kPageRows));
    read({found_.begin(), found_.begin() + count}, false);
    return true;
  }
  if (cursor_ != "0") {
    ask_keys();
    return true;
  }
  walk_ = Walk::Ended;
  delivered_.clear();
  found_.shrink_to_fit();
  send_count();
  return true;  // The pops continue when the answer arrives.
}

void StagedSubscription::ask_keys() {
  page_asked_ = true;
  link().commands.out().command({"SCAN", cursor_, "MATCH", literal(keys().rows) + "*", "COUNT", "512"});
  ask(1, shape::kPage, [this](const Reply& reply) {
    page_asked_ = false;
    if (reply.is_error()) return failed(reply, "the walk over the rows");
    if (Status endless = bound_.add(reply.items()[1].items().size(), spec()); !endless.ok()) {
      walk_stopped_ = true;
      return stopped(std::move(endless));
    }
    cursor_ = reply.items()[0].text();
    for (const Reply& key : reply.items()[1].items()) {
      found_.emplace_back(key.text().substr(std::min(keys().rows.size(), key.text().size())));
    }
    send_requests();
  });
}

void StagedSubscription::requeue(std::string_view key) {
  again_.emplace(key);
  send_requests();
}

void StagedSubscription::go_beside_pops() {
  if (again_.empty() || again_asked_ || !has_room()) return;
  again_asked_ = true;
  const auto count = static_cast<std::ptrdiff_t>(std::min(again_.size(), kPageRows));
  read({again_.begin(), std::next(again_.begin(), count)}, true);
}

void StagedSubscription::read(Keys wanted, bool again) {
  Commands& out = link().commands.out();
  out.begin(8 + wanted.size()).word("EVAL").word(kReadWritten).word("2").word(keys().pending).word(keys().deleted);
  out.word(keys().rows).word(keys().staging).word(kPageSeconds);
  for (const std::string& key : wanted) out.word(key);
  ask(1, shape::kWritten, [this, again, wanted = std::move(wanted)](const Reply& reply) { read_answered(wanted, again, reply); });
}

/// Leaves out keys for which something is staged, because a pop delivers them. If the script had no time for all keys, the rest is
/// requested again.
void StagedSubscription::read_answered(const Keys& wanted, bool again, const Reply& reply) {
  (again ? again_asked_ : page_asked_) = false;
  const std::span<const Reply> items = reply.is_error() ? std::span<const Reply>{} : reply.items();
  const std::size_t answered = std::min(items.size() / 3, wanted.size());
  if (answered == 0) return failed(reply, "reading rows");
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < answered; ++i) {
    const std::string& key = wanted[i];
    const std::int64_t waits = items[3 * i].integer() % kOtherType;
    note_type(key, items[3 * i].integer() >= kOtherType);
    if (waits != 0 || (!again && delivered_.contains(key))) continue;
    Entry entry;
    entry.key = key;
    entry.change = Change{ChangeOp::Set, record_of(key, items[3 * i + 1])};
    if (entry.change.record()) entries.push_back(std::move(entry));
  }
  if (again) {
    entries = without_fetched(std::move(entries));
    for (std::size_t i = 0; i < answered; ++i) again_.erase(wanted[i]);
  } else {
    found_.erase(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(answered));
  }
  hand_in(std::move(entries));
  send_requests();
}

/// Drops entries whose key has a fetched change that waits for the consumer.
std::vector<SingleConsumerSubscription::Entry> StagedSubscription::without_fetched(std::vector<Entry> entries) const {
  std::unordered_set<std::string_view> fetched;
  visit_fetched([&fetched](std::string_view key) { fetched.insert(key); });
  std::erase_if(entries, [&fetched](const Entry& entry) { return fetched.contains(entry.key); });
  return entries;
}

// --- pops

void StagedSubscription::write_pop(std::size_t max, std::uint64_t number, const std::vector<std::uint64_t>& done) {
  const bool rename = renames() && depth() >= kReadFrom;
  if (rename_in_ > 0) --rename_in_;
  Commands& out = link().commands.out();
  // A row that the consumer has not seen is delivered whole. Until the table was found empty, any row may be one.
  const char* const form = rows_ == Rows::Written && was_empty() ? "0" : depth() < kReadFrom ? "1" : "2";
  const std::string& fence = link().fence;
  out.begin((fence.empty() ? 15 : 16) + done.size()).word("EVAL").word(kPopStaged).word(fence.empty() ? "3" : "4");
  out.word(keys().pending).word(keys().deleted).word(keys().inflight);
  if (!fence.empty()) out.word(kLeaseKey);
  out.word(keys().rows).word(keys().staging).number(max).number(number).number(kPopBytes).word(rename ? "1" : "0").word(kPopSeconds);
  out.word(form).word(fence);
  for (const std::uint64_t batch : done) out.number(batch);
}

void StagedSubscription::write_recover(std::span<const std::string> fields) {
  Commands& out = link().commands.out();
  const std::string& fence = link().fence;
  out.begin((fence.empty() ? 9 : 10) + fields.size()).word("EVAL").word(kRecoverStaged).word(fence.empty() ? "2" : "3");
  out.word(keys().pending).word(keys().inflight);
  if (!fence.empty()) out.word(kLeaseKey);
  out.word(keys().staging).word(keys().rows).word(kPopSeconds).word(fence);
  for (const std::string& field : fields) out.word(field);
}

void StagedSubscription::read_popped(const Reply& content, Batch& batch) {
  const std::span<const Reply> items = content.items();
  batch.entries.reserve(items.size() / 3);
  std::size_t renamed = 0;
  std::size_t found = 0;
  for (std::size_t i = 0; i + 2 < items.size(); i += 3) {
    Entry& entry = batch.entries.emplace_back();
    entry.key = items[i].text();
    entry.deleted = items[i + 1].integer() == 1;
    const Reply& set = items[i + 2];
    if (set.kind() == Reply::Kind::Integer) {
      entry.unread = true;
      ++(set.integer() == 1 ? renamed : found);
    } else if (set.kind() == Reply::Kind::List) {
      Record record = record_of(entry.key, set);
      entry.change = Change{ChangeOp::Set, record ? std::move(record) : Record::make(entry.key, {})};
      ++found;
    }
  }
  if (renames() && found > renamed + 8) rename_in_ = kRenamePause;
}

std::vector<SingleConsumerSubscription::Batch> StagedSubscription::read_recovered(const Reply& content) {
  std::vector<Batch> batches;
  const std::span<const Reply> items = content.items();
  for (std::size_t i = 0; i + 2 < items.size(); i += 3) {
    Batch& batch = batches.emplace_back();
    batch.number = number_of(items[i].text());
    const std::span<const Reply> keys = items[i + 1].items();
    const std::span<const Reply> deleted = items[i + 2].items();
    for (std::size_t k = 0; k < keys.size(); ++k) {
      Entry& entry = batch.entries.emplace_back();
      entry.key = keys[k].text();
      entry.deleted = k < deleted.size() && deleted[k].integer() == 1;
      entry.unread = true;
    }
  }
  return batches;
}

}  // namespace rondo::redis
