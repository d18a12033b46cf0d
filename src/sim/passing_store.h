// PassingStore: a store that forwards all calls to another; the base of stores that observe it or have one fault.
#pragma once

#include <memory>
#include <utility>

#include "rondo/store/store.h"

namespace rondo::test {

class PassingStore : public Store {
 public:
  explicit PassingStore(std::unique_ptr<Store> store) : store_(std::move(store)) {}
  Status declare(const TableSpec& spec) override { return store_->declare(spec); }
  std::vector<TableSpec> tables() const override { return store_->tables(); }
  Status write(std::string_view table, Change change, WriteDone done = {}) override {
    return store_->write(table, std::move(change), std::move(done));
  }
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

 protected:
  Store& store() noexcept { return *store_; }

 private:
  std::unique_ptr<Store> store_;
};

}  // namespace rondo::test
