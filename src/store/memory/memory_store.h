// MemoryStore: the embedded store. It owns the tables, found by name, and the source that delivers completions. write() applies the change
// before it returns; only the completion is delivered later. The durable store is a MemoryStore with a RowPersister for each table.
// Scheduler's thread.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/store/store.h"
#include "store/completions.h"
#include "store/memory/memory_table.h"

namespace rondo::store {

class MemoryStore final : public Store {
 public:
  MemoryStore(Scheduler& scheduler, std::string name, Priority completions)
      : scheduler_(scheduler), completions_(scheduler, std::move(name), completions) {}

  Status declare(const TableSpec& spec) override;
  std::vector<TableSpec> tables() const override;
  Status write(std::string_view table, Change change, WriteDone done = {}) override;
  WriteAnswer write_answer(std::string_view table) const override {
    return find(table) != nullptr ? WriteAnswer::Accepted : WriteAnswer::Confirmed;
  }
  Result<std::unique_ptr<Subscription>> subscribe(std::string_view table, const SubscribeOptions& options = {}) override;
  void get(std::string_view table, std::string_view key, GetDone done) override;
  void scan(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  void scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  Result<Size> size(std::string_view table) const override;
  Status health() const override { return {}; }

  /// Null if the table was not declared. The pointer is valid as long as the store.
  MemoryTable* find(std::string_view table) const;
  Completions& completions() noexcept { return completions_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const noexcept { return hash_key(name); }
  };

  const Scheduler& scheduler_;
  Completions completions_;
  boost::unordered_flat_map<std::string, std::shared_ptr<MemoryTable>, Hash, std::equal_to<>> tables_;
  mutable MemoryTable* last_ = nullptr;
};

}  // namespace rondo::store
