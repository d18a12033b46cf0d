#include "store/zmq/inbox.h"

#include <utility>

#include "rondo/base/assert.h"
#include "rondo/base/limits.h"
#include "rondo/store/zmq_limits.h"
#include "store/table_rules.h"

namespace rondo::store {

namespace {

std::string table_named(std::string_view database, std::string_view table) {
  return "direct table " + quoted(table) + " of database " + quoted(database);
}

/// Pairs checked between two reads of the clock; some 10 us.
constexpr std::size_t kPairsPerStep = 512;

Status check_entry(const FrameEntry& entry) {
  if (entry.announced <= limits::kFields) return check_record(entry.key, entry.fields);
  return {StatusCode::InvalidArgument, "key " + quoted(entry.key) + " with " + std::to_string(entry.announced) + " fields; the limit is " +
                                           std::to_string(limits::kFields)};
}

bool is_full(const StagedTable& table) { return table.size().staged >= table.spec().rows_max; }

}  // namespace

/// Forwards to a table's consumer and detects that it made room.
class ZmqInbox::Consumer final : public Subscription {
 public:
  Consumer(ZmqInbox& inbox, std::unique_ptr<Subscription> inner) : inbox_(inbox), inner_(std::move(inner)) {}
  void on_ready(std::function<void()> wake) override { inner_->on_ready(std::move(wake)); }
  std::size_t take(std::size_t max, std::vector<Change>& out) override {
    const std::size_t taken = inner_->take(max, out);
    if (taken != 0 && inbox_.paused_) inbox_.room_();
    return taken;
  }
  bool empty() const override { return inner_->empty(); }
  std::size_t depth() const override { return inner_->depth(); }
  bool take_gap() override { return inner_->take_gap(); }
  void next_arrivals(std::size_t max, std::vector<Arrival>& out) const override { inner_->next_arrivals(max, out); }
  void requeue(std::string_view key) override { inner_->requeue(key); }
  bool caught_up() const override { return inner_->caught_up(); }

 private:
  ZmqInbox& inbox_;
  std::unique_ptr<Subscription> inner_;
};

Status ZmqInbox::declare(const ZmqTableSpec& spec) {
  TableSpec staged{.name = spec.table, .kind = TableKind::Staged, .rows_max = spec.keys_max};
  if (Status bad = check_spec(staged, "keys_max"); !bad.ok()) return bad;
  if (spec.database.size() > limits::kNameBytes) {
    return {StatusCode::InvalidArgument, "name of database " + quoted(spec.database) + " is over the limit of a name"};
  }
  if (tables_.size() >= limits::kTables) {
    return {StatusCode::ResourceExhausted, "more than " + std::to_string(limits::kTables) + " direct tables"};
  }
  const auto [place, is_new] = tables_.try_emplace(Name{spec.database, spec.table});
  if (!is_new) return {StatusCode::InvalidArgument, table_named(spec.database, spec.table) + " is there twice"};
  place->second = std::make_shared<StagedTable>(std::move(staged), StagedTable::Popped::IsKept);
  return {};
}

void ZmqInbox::take_time_of(const Scheduler& scheduler) {
  for (const auto& [name, table] : tables_) table->take_time_of(scheduler);
}

std::shared_ptr<StagedTable> ZmqInbox::find(std::string_view database, std::string_view table) const {
  const auto found = tables_.find(Name{database, table});
  return found == tables_.end() ? nullptr : found->second;
}

Result<std::unique_ptr<Subscription>> ZmqInbox::subscribe(std::string_view database, std::string_view table,
                                                          const SubscribeOptions& options) {
  const std::shared_ptr<StagedTable> staged = find(database, table);
  if (staged == nullptr) return failure(StatusCode::NotFound, "no " + table_named(database, table));
  Result<std::unique_ptr<Subscription>> inner = staged->subscribe(options);
  if (!inner) return inner;
  return std::make_unique<Consumer>(*this, std::move(*inner));
}

Status ZmqInbox::write(std::string_view database, std::string_view table, Change change) {
  const std::shared_ptr<StagedTable> staged = find(database, table);
  if (staged == nullptr) return {StatusCode::NotFound, "no " + table_named(database, table)};
  if (Status bad = check_change(staged->spec(), change); !bad.ok()) return bad;
  if (change.op() == ChangeOp::Set) change = {ChangeOp::Set, std::move(change).record().with_distinct_names()};
  return staged->write(std::move(change));
}

Result<std::size_t> ZmqInbox::staged(std::string_view database, std::string_view table) const {
  const std::shared_ptr<StagedTable> staged = find(database, table);
  if (staged == nullptr) return failure(StatusCode::NotFound, "no " + table_named(database, table));
  return staged->size().staged;
}

void ZmqInbox::open(std::string_view bytes) {
  RONDO_ASSERT(!has_frame());
  frame_ = FrameReader{};
  if (bytes.size() > limits::kZmqFrameBytes) {
    return fault_(ZmqFault::TooLong, {StatusCode::InvalidArgument, "frame of " + std::to_string(bytes.size()) + " bytes"});
  }
  Result<FrameReader> frame = FrameReader::begin(bytes);
  if (!frame) return fault_(ZmqFault::Malformed, frame.error());
  // Senders often write the same table repeatedly.
  if (target_ == nullptr || target_name_.second != frame->table() || target_name_.first != frame->database()) {
    target_ = find(frame->database(), frame->table());
    if (target_ == nullptr) {
      const std::string what = "frame for " + table_named(frame->database(), frame->table()) + ", which is not here";
      return fault_(ZmqFault::UnknownTable, {StatusCode::NotFound, what});
    }
    target_name_ = {std::string{frame->database()}, std::string{frame->table()}};
  }
  frame_ = std::move(*frame);
  frame_bytes_ = bytes.size();
  is_checking_ = true;
  check_some();  // A small frame is checked here and needs no separate step.
}

bool ZmqInbox::step() {
  if (!is_checking_) return apply_next();
  check_some();
  return true;
}

void ZmqInbox::check_some() {
  if (const Status bad = frame_.check(kPairsPerStep); !bad.ok()) {
    is_checking_ = false;
    frame_ = FrameReader{};
    return fault_(ZmqFault::Malformed, bad);
  }
  if (!frame_.is_checked()) return;
  is_checking_ = false;
  ++frames_;
  bytes_ += frame_bytes_;
}

bool ZmqInbox::apply_next() {
  Change change;
  if (held_) {
    change = *std::exchange(held_, std::nullopt);
  } else {
    const bool more = frame_.next(entry_);
    RONDO_ASSERT(more);
    if (Status bad = check_entry(entry_); !bad.ok()) {
      fault_(ZmqFault::BadEntry, bad.with_context(table_named(target_name_.first, target_name_.second)));
      return true;
    }
    Record record = Record::make(entry_.key, entry_.fields);
    change = Change{entry_.op, entry_.op == ChangeOp::Set ? record.with_distinct_names() : std::move(record)};
  }
  Status refused = target_->write(change);
  if (!refused.ok() && is_full(*target_)) {
    held_ = std::move(change);
    paused_ = true;
    return false;
  }
  paused_ = false;
  if (refused.ok()) {
    ++entries_;
  } else {
    fault_(ZmqFault::BadEntry, refused);
  }
  return true;
}

}  // namespace rondo::store
