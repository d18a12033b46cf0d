#include "store/zmq/write_behind.h"

#include <algorithm>
#include <utility>

#include "rondo/base/assert.h"
#include "rondo/base/limits.h"

namespace rondo::store {

namespace {

constexpr std::size_t kBatchKeys = 512;

bool may_pass(const Status& why, unsigned tries) {
  if (why.code() == StatusCode::Unavailable || why.code() == StatusCode::DeadlineExceeded) return true;
  return why.code() == StatusCode::ResourceExhausted && tries < limits::kFullStoreTries;
}

}  // namespace

WriteBehind::WriteBehind(Scheduler& scheduler, Store& store, WriteBehindOptions options)
    : Source("direct:behind", options.priority),
      store_(store),
      scheduler_(scheduler),
      options_(std::move(options)),
      timer_("direct:behind-retry", options_.priority, [this] { wake(); }) {
  scheduler.add(*this);
  scheduler.add(timer_);
}

WriteBehind::~WriteBehind() = default;

void WriteBehind::add_table(const std::string& name) {
  auto table = std::make_unique<Table>();
  table->name = name;
  table->staged = std::make_shared<StagedTable>(TableSpec{.name = name, .kind = TableKind::Staged, .rows_max = options_.keys_max},
                                                StagedTable::Popped::IsForgotten);
  table->waiting = std::move(*table->staged->subscribe());
  tables_.emplace(name, std::move(table));
}

void WriteBehind::on_room(std::string_view table, std::function<void()> told) { tables_.find(table)->second->told = std::move(told); }

std::size_t WriteBehind::room(std::string_view table) const { return options_.keys_max - tables_.find(table)->second->waiting->depth(); }

void WriteBehind::add(std::string_view table, const Change& change) {
  Table& into = *tables_.find(table)->second;
  const Status staged = into.staged->write(change);
  if (!staged.ok()) {  // The caller checked room(), so the only possible error is a record that outgrew its limits.
    ++left_out_;
    if (options_.on_trouble) options_.on_trouble(table, staged);
  }
  into.was_full = into.waiting->depth() >= options_.keys_max;
  if (batch_.empty()) wake();
}

std::size_t WriteBehind::waiting() const {
  std::size_t keys = 0;
  for (const auto& [name, table] : tables_) keys += table->waiting->depth();
  return keys;
}

/// Takes the next batch, a share from each table.
std::size_t WriteBehind::fill() {
  RONDO_ASSERT(batch_.empty());
  next_ = 0;
  tries_ = 0;
  progressed_ = false;
  const std::size_t share = std::max<std::size_t>(1, kBatchKeys / std::max<std::size_t>(1, tables_.size()));
  for (const auto& [name, table] : tables_) {
    taken_.clear();
    table->waiting->take(share, taken_);
    for (Change& change : taken_) batch_.push_back({table.get(), std::move(change)});
    if (taken_.empty() || !std::exchange(table->was_full, false)) continue;
    if (table->told) table->told();
  }
  return batch_.size();
}

/// Passes the rest of the batch to the store, as far as the store accepts it.
void WriteBehind::write_items() {
  for (; next_ < batch_.size(); ++next_) {
    Item& item = batch_[next_];
    if (item.state != State::ToWrite) continue;
    item.state = State::UnderWay;
    ++under_way_;
    const std::size_t index = next_;
    const Status answer = store_.write(item.table->name, item.change, [this, index](const Status& status) { finish(index, status); });
    if (answer.ok()) {
      progressed_ = true;
      continue;
    }
    item.state = State::ToWrite;
    --under_way_;
    if (!leave_out(item, answer, !progressed_)) return;  // After progress, a refusal only means that a buffer is full.
  }
}

/// True when a retry cannot help. A temporary failure is reported once per batch.
bool WriteBehind::leave_out(Item& item, const Status& why, bool is_trouble) {
  if (may_pass(why, tries_)) {
    if (is_trouble && !std::exchange(reported_, true) && options_.on_trouble) options_.on_trouble(item.table->name, why);
    return false;
  }
  item.state = State::LeftOut;
  ++left_out_;
  if (options_.on_trouble) options_.on_trouble(item.table->name, why.with_context("left out of the copy"));
  return true;
}

void WriteBehind::finish(std::size_t index, const Status& status) {
  --under_way_;
  Item& item = batch_[index];
  if (status.ok()) {
    item.state = State::Confirmed;
  } else if (!leave_out(item, status, true)) {
    item.state = State::ToWrite;
    failed_ = true;
  }
  if (under_way_ == 0) go_on();
}

/// Called when every item passed to the store has its answer.
void WriteBehind::go_on() {
  if (failed_) {
    write_failed_again();
    return pause();
  }
  if (next_ < batch_.size()) {  // The store refused this item.
    if (!std::exchange(progressed_, false)) return pause();
    tries_ = 0;
    return wake();
  }
  written_ += static_cast<std::uint64_t>(
      std::count_if(batch_.begin(), batch_.end(), [](const Item& item) { return item.state == State::Confirmed; }));
  batch_.clear();
  reported_ = false;
  if (waiting() != 0) wake();
}

void WriteBehind::pause() {
  ++tries_;
  ++retries_;
  progressed_ = false;
  timer_.arm_at(scheduler_.now() + options_.retry);
}

/// A batch has at most a Delete and, right behind it, a Set of a key.
void WriteBehind::write_failed_again() {
  failed_ = false;
  next_ = 0;
  for (std::size_t i = 1; i < batch_.size(); ++i) {
    const Item& before = batch_[i - 1];
    const bool same = before.table == batch_[i].table && before.change.key() == batch_[i].change.key();
    if (same && before.state == State::ToWrite && batch_[i].state == State::Confirmed) batch_[i].state = State::ToWrite;
  }
}

Turn WriteBehind::run(const Budget&) {
  if (under_way_ != 0 || timer_.is_armed()) return {};
  if (batch_.empty() && fill() == 0) return {};
  const std::size_t before = next_;
  write_items();
  const auto items = static_cast<std::uint32_t>(next_ - before);
  if (under_way_ == 0) go_on();  // The store accepted nothing, so no callback will continue the batch.
  return {.items = items, .backlog = Backlog::Empty};
}

void WriteBehind::flush() {
  timer_.disarm();
  do {
    for (const Item& item : batch_) {
      if (item.state == State::Confirmed || item.state == State::LeftOut) continue;
      if (!store_.write(item.table->name, item.change).ok()) return;
    }
    batch_.clear();
  } while (fill() != 0);
}

}  // namespace rondo::store
