#include "store/routed_store.h"

#include <algorithm>
#include <utility>

#include "rondo/base/assert.h"

namespace rondo::store {

RoutedStore::RoutedStore(std::unique_ptr<Store> rest) {
  RONDO_ASSERT(rest != nullptr);
  stores_.push_back(std::move(rest));
}

void RoutedStore::route(std::unique_ptr<Store> store, const std::vector<std::string>& tables) {
  RONDO_ASSERT(store != nullptr);
  for (const std::string& table : tables) {
    const bool is_new = routes_.emplace(table, store.get()).second;
    RONDO_ASSERT(is_new);
  }
  stores_.push_back(std::move(store));
}

Store& RoutedStore::at(std::string_view table) const {
  const auto found = routes_.find(table);
  return found == routes_.end() ? *stores_.front() : *found->second;
}

std::vector<TableSpec> RoutedStore::tables() const {
  std::vector<TableSpec> all;
  for (const auto& store : stores_) {
    // A file has its tables before they are declared, and a route may have taken some of them away since.
    std::ranges::copy_if(store->tables(), std::back_inserter(all), [&](const TableSpec& spec) { return &at(spec.name) == store.get(); });
  }
  std::ranges::sort(all, {}, &TableSpec::name);
  return all;
}

Status RoutedStore::write(std::string_view table, Change change, WriteDone done) {
  return at(table).write(table, std::move(change), std::move(done));
}

void RoutedStore::get(std::string_view table, std::string_view key, GetDone done) { at(table).get(table, key, std::move(done)); }

void RoutedStore::scan(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) {
  at(table).scan(table, cursor, max, std::move(done));
}

void RoutedStore::scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) {
  at(table).scan_written(table, cursor, max, std::move(done));
}

Status RoutedStore::health() const {
  Status first;
  std::string all;
  for (const auto& store : stores_) {
    const Status health = store->health();
    if (health.ok()) continue;
    if (first.ok()) first = health;
    all.append(all.empty() ? "" : "; ").append(health.message());
  }
  return first.ok() ? first : Status{first.code(), all};
}

}  // namespace rondo::store
