// RoutedStore: one Store in front of several. Each table is in the store to which its name is routed; all other tables are in the first
// store. So the ports of a switch can be on one Redis, its routes on another, and the rest in this process. Adds a lookup by name to each
// call.
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

  /// Routes these tables to 'store' from now on. None of them may be routed or declared before.
  void route(std::unique_ptr<Store> store, const std::vector<std::string>& tables);

  Status declare(const TableSpec& spec) override { return at(spec.name).declare(spec); }
  /// Without the tables that a store has although they are routed to another one.
  std::vector<TableSpec> tables() const override;
  Status write(std::string_view table, Change change, WriteDone done = {}) override;
  WriteAnswer write_answer(std::string_view table) const override { return at(table).write_answer(table); }
  bool outlives_process(std::string_view table) const override { return at(table).outlives_process(table); }
  Result<std::unique_ptr<Subscription>> subscribe(std::string_view table, const SubscribeOptions& options = {}) override {
    return at(table).subscribe(table, options);
  }
  void get(std::string_view table, std::string_view key, GetDone done) override;
  void scan(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  void scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  Result<Size> size(std::string_view table) const override { return at(table).size(table); }
  /// The code of the first store that is not healthy; the message names all unhealthy stores.
  Status health() const override;
  StoreReport report() const override;
  void poll() override;
  void begin_end() override;
  std::size_t unfinished() const override;
  bool release() override;
  /// Names everything that is lost.
  Status finish() override;

 private:
  Store& at(std::string_view table) const;
  std::vector<std::unique_ptr<Store>> stores_;  // The first is the store without a route.
  std::map<std::string, Store*, std::less<>> routes_;
};

}  // namespace rondo::store
