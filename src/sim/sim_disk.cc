#include "sim/sim_disk.h"

#include <algorithm>
#include <utility>

#include "rondo/sched/scheduler.h"

namespace rondo::sim {

// --- SimDisk

SimDisk::Table& SimDisk::table(const TableSpec& spec) {
  const auto [entry, is_new] = tables_.try_emplace(spec.name);
  if (is_new) entry->second.spec = spec;
  return entry->second;
}

void SimDisk::apply(Line& line) {
  Table& table = *line.table;
  switch (line.kind) {
    case Line::Kind::Keep:
    case Line::Kind::KeepDelete:
      entry_of(table.rows, line.change.record()) = {line.change.record(), line.kind == Line::Kind::KeepDelete};
      return;
    case Line::Kind::Forget:
      if (const auto row = table.rows.find(line.change.record()); row != table.rows.end()) table.rows.erase(row);
      return;
    case Line::Kind::Append: table.entries.push_back(std::move(line.change)); return;
    case Line::Kind::DeleteDealtWith:
      if (const auto row = table.rows.find(line.change.record());
          row != table.rows.end() && row->second.deleted && row->second.record.is_copy_of(line.change.record())) {
        table.rows.erase(row);
      }
      return;
    case Line::Kind::EntryDealtWith: {
      const auto is_it = [&line](const Change& entry) { return entry.record().is_copy_of(line.change.record()); };
      const auto found = std::ranges::find_if(table.entries, is_it);
      if (found != table.entries.end()) table.entries.erase(table.entries.begin(), found + 1);
      return;
    }
  }
}

void SimDisk::apply(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) apply(group_[i]);
  group_.clear();
}

Status SimDisk::commit() {
  if (!trouble_.ok()) return trouble_;
  apply(group_.size());
  return {};
}

std::size_t SimDisk::crash(Random& random) {
  const std::size_t all = group_.size();
  const std::size_t drawn = random.below(all + 1);
  const std::size_t there = trouble_.ok() ? drawn : 0;
  apply(there);
  return all - there;
}

// --- SimDurableStore

namespace {
/// Shorter than the durable store's second, so that simulated runs do not consist mostly of refused writes.
constexpr Duration kRetry = 50ms;
}  // namespace

class SimDurableStore::Keeper final : public store::RowPersister {
 public:
  Keeper(SimDurableStore& store, SimDisk::Table& table) : store_(store), table_(table) {}

  void keep(const Record& row) override { add(SimDisk::Line::Kind::Keep, {ChangeOp::Set, row}); }
  void keep_delete(const Record& key) override { add(SimDisk::Line::Kind::KeepDelete, {ChangeOp::Delete, key}); }
  void forget(const Record& key) override { add(SimDisk::Line::Kind::Forget, {ChangeOp::Delete, key}); }
  void append(const Change& entry) override { add(SimDisk::Line::Kind::Append, entry); }
  void delete_acked(const Record& deleted) override { add(SimDisk::Line::Kind::DeleteDealtWith, {ChangeOp::Delete, deleted}); }
  void entry_acked(const Change& entry) override { add(SimDisk::Line::Kind::EntryDealtWith, entry); }

 private:
  void add(SimDisk::Line::Kind kind, Change change) {
    store_.disk_.add({kind, &table_, std::move(change)});
    store_.added();
  }
  SimDurableStore& store_;
  SimDisk::Table& table_;
};

SimDurableStore::SimDurableStore(Scheduler& scheduler, SimDisk& disk, Random& random, Duration commit_high)
    : disk_(disk),
      random_(random),
      commit_high_(commit_high),
      memory_(scheduler, "sim-durable-store", Priority::p7),
      timer_("sim-disk", Priority::p7, [this] { commit(); }) {
  scheduler.add(timer_);
  for (const auto& [name, kept] : disk.tables()) restore(kept);
}

SimDurableStore::~SimDurableStore() = default;

void SimDurableStore::restore(const SimDisk::Table& kept) {
  if (!memory_.declare(kept.spec).ok()) return;
  store::MemoryTable& table = *memory_.find(kept.spec.name);
  std::vector<const SimDisk::Row*> rows;
  for (const auto& [key, row] : kept.rows) rows.push_back(&row);
  for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random_.below(i)]);
  for (const SimDisk::Row* const row : rows) {
    if (row->deleted) {
      static_cast<void>(table.write(Change{ChangeOp::Delete, row->record}));
    } else {
      table.restore(row->record);
    }
  }
  for (const Change& entry : kept.entries) table.restore_entry(entry);
  keep(table, disk_.table(kept.spec));
}

void SimDurableStore::keep(store::MemoryTable& table, SimDisk::Table& kept) {
  keepers_.push_back(std::make_unique<Keeper>(*this, kept));
  table.persist_with(keepers_.back().get());
}

Status SimDurableStore::declare(const TableSpec& spec) {
  const bool is_new = memory_.find(spec.name) == nullptr;
  if (Status bad = memory_.declare(spec); !bad.ok() || !is_new || spec.kind == TableKind::Channel) return bad;
  keep(*memory_.find(spec.name), disk_.table(spec));
  return {};
}

Status SimDurableStore::write(std::string_view table, Change change, WriteDone done) {
  const store::MemoryTable* const known = memory_.find(table);
  const bool is_kept = known != nullptr && known->spec().kind != TableKind::Channel;
  if (!is_kept) return memory_.write(table, std::move(change), std::move(done));
  if (!trouble_.ok()) return Status{trouble_}.with_context("table " + quoted(table) + ": nothing can be written down");
  if (Status refused = memory_.write(table, std::move(change)); !refused.ok()) return refused;
  if (done) waiting_.push_back(std::move(done));
  trouble_.ok() ? added() : notify();  // The write may have failed just now: it is in memory but not on the disk.
  return {};
}

void SimDurableStore::added() {
  if (timer_.is_armed()) return;
  if (commit_high_ == Duration{0}) return commit();
  arm(Duration{static_cast<std::int64_t>(random_.between(0, static_cast<std::uint64_t>(commit_high_.count())))});
}

void SimDurableStore::arm(Duration delay) { timer_.arm_at(timer_.scheduler()->clock().now() + delay); }

void SimDurableStore::commit() {
  const Duration still = disk_.still_until() - timer_.scheduler()->clock().now();
  if (still > Duration{0}) return arm(still);
  trouble_ = disk_.commit();
  if (!trouble_.ok()) arm(kRetry);
  notify();
}

void SimDurableStore::notify() {
  for (WriteDone& done : std::exchange(waiting_, {})) memory_.completions().post(std::move(done), trouble_);
}

}  // namespace rondo::sim
