// RoutedStore: one Store in front of several: each table lives in the store that it was given to by name, all others in the first. So the
// ports of a switch can be on one Redis, its routes on another, and the rest in this process. Adds a lookup by name to each call.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/store/store.h"

namespace rondo::store {

class RoutedStore final : public Store {
 public:
  /// 'rest' has every table that no route names.
  explicit RoutedStore(std::unique_ptr<Store> rest);

  /// From now on these tables are in 'store'. None of them was routed or declared before.
  void route(std::unique_ptr<Store> store, const std::vector<std::string>& tables);

  Status declare(const TableSpec& spec) override { return at(spec.name).declare(spec); }
  std::vector<TableSpec> tables() const override;
  Status write(std::string_view table, Change change, WriteDone done = {}) override;
  Result<std::unique_ptr<Subscription>> subscribe(std::string_view table, const SubscribeOptions& options = {}) override {
    return at(table).subscribe(table, options);
  }
  void get(std::string_view table, std::string_view key, GetDone done) override;
  void scan(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  void scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  Result<Size> size(std::string_view table) const override { return at(table).size(table); }
  /// Of the first store that is not well; all of those that are not are in the message.
  Status health() const override;

 private:
  Store& at(std::string_view table) const;
  std::vector<std::unique_ptr<Store>> stores_;  // The first is the rest.
  std::map<std::string, Store*, std::less<>> routes_;
};

}  // namespace rondo::store
