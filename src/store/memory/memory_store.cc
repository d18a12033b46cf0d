// The embedded store: its tables by name, and the source of its completions. Scheduler's thread. A write is applied inside write(); only
// its completion comes later.
#include "rondo/store/memory_store.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <utility>

#include "store/completions.h"
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

class MemoryStore final : public Store {
 public:
  MemoryStore(Scheduler& scheduler, Priority completions) : completions_(scheduler, "memory-store", completions) {}

  Status declare(const TableSpec& spec) override {
    if (Status bad = check_spec(spec); !bad.ok()) return bad;
    if (const MemoryTable* existing = find(spec.name)) return check_same(existing->spec(), spec);
    if (tables_.size() >= limits::kTables) {
      return {Code::ResourceExhausted, "no room for table " + quoted(spec.name) + ": " + std::to_string(limits::kTables) + " exist"};
    }
    tables_.emplace(spec.name, make_table(spec));
    return {};
  }

  std::vector<TableSpec> tables() const override {
    std::vector<TableSpec> specs;
    for (const auto& [name, table] : tables_) specs.push_back(table->spec());
    std::sort(specs.begin(), specs.end(), [](const TableSpec& a, const TableSpec& b) { return a.name < b.name; });
    return specs;
  }

  Status write(std::string_view name, Change change, WriteDone done) override {
    MemoryTable* const table = find(name);
    if (table == nullptr) return no_such_table(name);
    if (Status bad = check_change(table->spec(), change); !bad.ok()) return bad;
    const bool merges = table->spec().kind == TableKind::Staged || table->spec().kind == TableKind::Watched;
    if (merges && change.op() == Op::Set) change = {Op::Set, std::move(change).record().with_distinct_names()};
    if (Status refused = table->write(std::move(change)); !refused.ok()) return refused;
    completions_.post(std::move(done), {});
    return {};
  }

  Result<std::unique_ptr<Subscription>> subscribe(std::string_view name) override {
    MemoryTable* const table = find(name);
    if (table == nullptr) return failure(no_such_table(name));
    return table->subscribe();
  }

  void get(std::string_view name, std::string_view key, GetDone done) override {
    const MemoryTable* const table = find(name);
    completions_.post(std::move(done), table == nullptr ? failure(no_such_table(name)) : Result<Record>{table->get(key)});
  }

  void scan(std::string_view name, std::string_view cursor, std::size_t max, ScanDone done) override {
    const MemoryTable* const table = find(name);
    completions_.post(std::move(done), table == nullptr ? failure(no_such_table(name)) : table->scan(cursor, max));
  }

  void scan_written(std::string_view name, std::string_view cursor, std::size_t max, ScanDone done) override {
    const MemoryTable* const table = find(name);
    if (table == nullptr) return completions_.post(std::move(done), failure(no_such_table(name)));
    Status bad = check_scan_written(table->spec());
    completions_.post(std::move(done), bad.ok() ? table->scan_written(cursor, max) : failure(std::move(bad)));
  }

  Result<Size> size(std::string_view name) const override {
    const MemoryTable* const table = find(name);
    if (table == nullptr) return failure(no_such_table(name));
    return table->size();
  }

  Status health() const override { return {}; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const noexcept { return hash_key(name); }
  };

  /// Writers come back to the same table: remembering the last one saves a hash.
  MemoryTable* find(std::string_view name) const {
    if (last_ != nullptr && last_->spec().name == name) return last_;
    const auto found = tables_.find(name);
    if (found != tables_.end()) last_ = found->second.get();
    return found == tables_.end() ? nullptr : last_;
  }

  Completions completions_;
  boost::unordered_flat_map<std::string, std::shared_ptr<MemoryTable>, Hash, std::equal_to<>> tables_;
  mutable MemoryTable* last_ = nullptr;
};

}  // namespace
}  // namespace store

std::unique_ptr<Store> make_memory_store(Scheduler& scheduler, Priority completions) {
  return std::make_unique<store::MemoryStore>(scheduler, completions);
}

}  // namespace rondo
