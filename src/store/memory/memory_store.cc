#include "store/memory/memory_store.h"

#include <algorithm>
#include <utility>

#include "rondo/base/limits.h"
#include "rondo/store/memory_store.h"
#include "store/memory/channel_table.h"
#include "store/memory/queue_table.h"
#include "store/memory/staged_table.h"
#include "store/memory/watched_table.h"
#include "store/table_rules.h"

namespace rondo {

namespace store {
namespace {

std::shared_ptr<MemoryTable> make_table(const TableSpec& spec) {
  switch (spec.kind) {
    case TableKind::Staged: return std::make_shared<StagedTable>(spec);
    case TableKind::Watched: return std::make_shared<WatchedTable>(spec);
    case TableKind::Channel: return std::make_shared<ChannelTable>(spec);
    case TableKind::Queue: return std::make_shared<QueueTable>(spec);
  }
  return nullptr;
}

}  // namespace

Status MemoryStore::declare(const TableSpec& spec) {
  if (Status bad = check_spec(spec); !bad.ok()) return bad;
  if (const MemoryTable* existing = find(spec.name)) return check_same(existing->spec(), spec);
  if (tables_.size() >= limits::kTables) {
    return {StatusCode::ResourceExhausted, "no room for table " + quoted(spec.name) + ": " + std::to_string(limits::kTables) + " exist"};
  }
  const std::shared_ptr<MemoryTable> table = make_table(spec);
  table->take_time_of(scheduler_);
  tables_.emplace(spec.name, table);
  return {};
}

std::vector<TableSpec> MemoryStore::tables() const {
  std::vector<TableSpec> specs;
  for (const auto& [name, table] : tables_) specs.push_back(table->spec());
  std::sort(specs.begin(), specs.end(), [](const TableSpec& a, const TableSpec& b) { return a.name < b.name; });
  return specs;
}

Status MemoryStore::write(std::string_view name, Change change, WriteDone done) {
  expect_here(scheduler_, "write", name);
  MemoryTable* const table = find(name);
  if (table == nullptr) return no_such_table(name);
  if (Status bad = check_change(table->spec(), change); !bad.ok()) return bad;
  const bool merges = table->spec().kind == TableKind::Staged || table->spec().kind == TableKind::Watched;
  if (merges && change.op() == ChangeOp::Set) change = {ChangeOp::Set, std::move(change).record().with_distinct_names()};
  if (Status refused = table->write(std::move(change)); !refused.ok()) return refused;
  completions_.post(std::move(done), {});
  return {};
}

Result<std::unique_ptr<Subscription>> MemoryStore::subscribe(std::string_view name, const SubscribeOptions& options) {
  MemoryTable* const table = find(name);
  if (table == nullptr) return failure(no_such_table(name));
  return table->subscribe(options);
}

void MemoryStore::get(std::string_view name, std::string_view key, GetDone done) {
  expect_here(scheduler_, "get", name);
  const MemoryTable* const table = find(name);
  completions_.post(std::move(done), table == nullptr ? failure(no_such_table(name)) : Result<Record>{table->get(key)});
}

void MemoryStore::scan(std::string_view name, std::string_view cursor, std::size_t max, ScanDone done) {
  expect_here(scheduler_, "scan", name);
  const MemoryTable* const table = find(name);
  completions_.post(std::move(done), table == nullptr ? failure(no_such_table(name)) : table->scan(cursor, max));
}

void MemoryStore::scan_written(std::string_view name, std::string_view cursor, std::size_t max, ScanDone done) {
  expect_here(scheduler_, "scan_written", name);
  const MemoryTable* const table = find(name);
  if (table == nullptr) return completions_.post(std::move(done), failure(no_such_table(name)));
  Status bad = check_scan_written(table->spec());
  completions_.post(std::move(done), bad.ok() ? table->scan_written(cursor, max) : failure(std::move(bad)));
}

Result<Store::Size> MemoryStore::size(std::string_view name) const {
  const MemoryTable* const table = find(name);
  if (table == nullptr) return failure(no_such_table(name));
  return table->size();
}

/// Callers often write the same table repeatedly: remembering the last one saves a hash.
MemoryTable* MemoryStore::find(std::string_view name) const {
  if (last_ != nullptr && last_->spec().name == name) return last_;
  const auto found = tables_.find(name);
  if (found != tables_.end()) last_ = found->second.get();
  return found == tables_.end() ? nullptr : last_;
}

}  // namespace store

std::unique_ptr<Store> make_memory_store(Scheduler& scheduler, Priority completions) {
  return std::make_unique<store::MemoryStore>(scheduler, "memory-store", completions);
}

}  // namespace rondo
