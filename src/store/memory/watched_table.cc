#include "store/memory/watched_table.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>

#include "store/arrival_marks.h"

namespace rondo::store {

/// Delivers the first full read in the order of row numbers up to 'scan_end_', then the chain. A row that changes before the scan reaches
/// it is delivered there in its newest state. A row that is deleted moves to the chain, and so does a new row.
class WatchedTable::Watcher final : public Subscription {
 public:
  Watcher(std::shared_ptr<WatchedTable> table, bool standing_rows)
      : table_(std::move(table)), scan_end_(standing_rows ? table_->rows_.end_id() : 0), scan_left_(standing_rows ? table_->count_ : 0) {
    table_->watchers_.push_back(this);
  }
  ~Watcher() override {
    std::erase(table_->watchers_, this);
    for (const std::uint32_t id : chain_) settle(id);
  }

  void on_ready(std::function<void()> wake) override {
    wake_ = std::move(wake);
    if (!empty() && wake_) wake_();
  }
  std::size_t take(std::size_t max, std::vector<Change>& out) override {
    const std::size_t taken = take_scan(max, out);
    return taken + take_chain(max - taken, out);
  }
  bool empty() const override { return depth() == 0; }
  std::size_t depth() const override { return scan_left_ + chain_.size(); }
  bool take_gap() override { return false; }
  void requeue(std::string_view key) override {
    const std::uint32_t id = table_->rows_.find(key, hash_key(key));
    if (id != table_->rows_.kNone && !table_->rows_[id].deleted) changed(id, What::Changed);
  }
  bool caught_up() const override { return scan_left_ == 0; }
  bool has_fetched(std::string_view key) const override {
    const std::uint32_t id = table_->rows_.find(key, hash_key(key));
    return id != table_->rows_.kNone && (in_chain(id) || (scan_left_ > 0 && id >= scan_next_ && id < scan_end_));
  }
  void next_arrivals(std::size_t max, std::vector<Arrival>& out) const override {
    const std::size_t scanned = std::min(scan_left_, max);
    if (scanned != 0) out.push_back({.at = {}, .keys = scanned});
    arrivals_.next(max - scanned, out);
  }

  enum class What { New, Changed, Deleted };
  void changed(std::uint32_t id, What what) {
    if (in_chain(id)) return;
    const bool to_be_scanned = what != What::New && id >= scan_next_ && id < scan_end_;
    if (to_be_scanned && what == What::Changed) return;
    const bool was_empty = empty();
    if (to_be_scanned) --scan_left_;
    mark(id, true);
    chain_.push_back(id);
    arrivals_.add(table_->now());
    ++table_->rows_[id].pending;
    if (was_empty && wake_) wake_();
  }

 private:
  bool in_chain(std::uint32_t id) const { return id < bits_.size() && bits_[id]; }
  void mark(std::uint32_t id, bool on) {
    if (id >= bits_.size()) bits_.resize(id + std::size_t{1});
    bits_[id] = on;
  }
  void settle(std::uint32_t id) {
    --table_->rows_[id].pending;
    table_->erase_if_settled(id);
  }

  std::size_t take_scan(std::size_t max, std::vector<Change>& out) {
    std::size_t taken = 0;
    for (; scan_left_ > 0 && taken < max; ++scan_next_) {
      const Row& row = table_->rows_[scan_next_];
      if (!row.record || row.deleted || in_chain(scan_next_)) continue;
      out.emplace_back(ChangeOp::Set, row.record);
      --scan_left_;
      ++taken;
    }
    if (scan_left_ == 0) scan_next_ = scan_end_;
    return taken;
  }

  std::size_t take_chain(std::size_t max, std::vector<Change>& out) {
    std::size_t taken = 0;
    for (; taken < max && !chain_.empty(); ++taken) {
      const std::uint32_t id = chain_.front();
      chain_.pop_front();
      arrivals_.remove(1);
      mark(id, false);
      const Row& row = table_->rows_[id];
      out.emplace_back(row.deleted ? ChangeOp::Delete : ChangeOp::Set, row.record);
      settle(id);
    }
    return taken;
  }

  std::shared_ptr<WatchedTable> table_;
  std::function<void()> wake_;
  std::uint32_t scan_next_ = 0;
  std::uint32_t scan_end_;
  std::size_t scan_left_;  // Rows of the scan that were not delivered yet.
  std::deque<std::uint32_t> chain_;
  ArrivalMarks arrivals_;   // Marks in the chain.
  std::vector<bool> bits_;  // By row number: whether the row is in the chain.
};

Status WatchedTable::write(Change change) {
  if (change.op() == ChangeOp::Set) return set(std::move(change).record());
  remove(change.record());
  return {};
}

Status WatchedTable::set(Record record) {
  const std::uint64_t hash = record.key_hash();
  if (rows_.size() >= spec().rows_max && rows_.find(record.key(), hash) == rows_.kNone) return table_full(spec(), record.key());
  const auto [id, is_new] = rows_.find_or_add(record.key(), hash);
  Row& row = rows_[id];
  const bool exists = !is_new && !row.deleted;
  if (exists) {
    if (Status refused = check_merge(spec().name, row.record, record); !refused.ok()) return refused;
    row.record = Record::merged(row.record, record);
  } else {
    row.record = std::move(record);
    row.deleted = false;
    ++count_;
  }
  if (persister() != nullptr) persister()->keep(row.record);
  for (Watcher* watcher : watchers_) watcher->changed(id, exists ? Watcher::What::Changed : Watcher::What::New);
  return {};
}

void WatchedTable::remove(const Record& key) {
  const std::uint32_t id = rows_.find(key.key(), key.key_hash());
  if (id == rows_.kNone || rows_[id].deleted) return;  // Nothing changes, so no watcher is notified.
  rows_[id].record = key;
  rows_[id].deleted = true;
  --count_;
  if (persister() != nullptr) persister()->forget(key);
  for (Watcher* watcher : watchers_) watcher->changed(id, Watcher::What::Deleted);
  erase_if_settled(id);
}

void WatchedTable::erase_if_settled(std::uint32_t id) {
  if (rows_[id].deleted && rows_[id].pending == 0) rows_.erase(id, rows_[id].record.key_hash());
}

Result<std::unique_ptr<Subscription>> WatchedTable::subscribe(const SubscribeOptions& options) {
  return std::make_unique<Watcher>(std::static_pointer_cast<WatchedTable>(shared_from_this()), options.standing_rows);
}

Record WatchedTable::get(std::string_view key) const {
  const std::uint32_t id = rows_.find(key, hash_key(key));
  return id == rows_.kNone || rows_[id].deleted ? Record{} : rows_[id].record;
}

Result<RowPage> WatchedTable::scan(std::string_view cursor, std::size_t max) const {
  static const Record kNoRow;
  return scan_rows(rows_, cursor, max, [this](std::uint32_t id) -> const Record& { return rows_[id].deleted ? kNoRow : rows_[id].record; });
}

}  // namespace rondo::store
