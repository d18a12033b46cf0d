// ObservedStore: a store that observes another: it reports the end of every write, and lists those without an answer. All other calls pass
// through.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rondo/store/store.h"

namespace rondo::sim {

class ObservedStore final : public Store {
 public:
  /// Receives the end of each accepted write.
  using Told = std::function<void(std::string_view table, const Change& change, const Status& end)>;
  ObservedStore(std::unique_ptr<Store> store, Told told) : store_(std::move(store)), told_(std::move(told)) {}

  Status write(std::string_view table, Change change, WriteDone done = {}) override;
  std::size_t unanswered() const noexcept { return writes_.size() - free_.size(); }
  /// Visits the writes that have no answer when the process ends.
  void for_each_unanswered(const std::function<void(std::string_view table, const Change& change)>& visit) const;
  Store& store() noexcept { return *store_; }

  Status declare(const TableSpec& spec) override { return store_->declare(spec); }
  std::vector<TableSpec> tables() const override { return store_->tables(); }
  Result<std::unique_ptr<Subscription>> subscribe(std::string_view table, const SubscribeOptions& options = {}) override {
    return store_->subscribe(table, options);
  }
  void get(std::string_view table, std::string_view key, GetDone done) override { store_->get(table, key, std::move(done)); }
  void scan(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override {
    store_->scan(table, cursor, max, std::move(done));
  }
  void scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override {
    store_->scan_written(table, cursor, max, std::move(done));
  }
  Result<Size> size(std::string_view table) const override { return store_->size(table); }
  Status health() const override { return store_->health(); }

 private:
  struct Write {
    std::string table;
    Change change;
    WriteDone done;
    bool is_open = false;
  };
  std::size_t open(std::string_view table, const Change& change, WriteDone done);
  void ended(std::size_t slot, const Status& end);

  std::unique_ptr<Store> store_;
  Told told_;
  std::vector<Write> writes_;      // By slot.
  std::vector<std::size_t> free_;  // Slots.
};

}  // namespace rondo::sim
