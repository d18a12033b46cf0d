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

StoreReport RoutedStore::report() const {
  StoreReport all;
  for (const auto& store : stores_) {
    StoreReport one = store->report();
    std::ranges::move(one.troubles, std::back_inserter(all.troubles));
    std::ranges::move(one.notes, std::back_inserter(all.notes));
    std::ranges::move(one.damage, std::back_inserter(all.damage));
    for (StoreReport::Incident& incident : one.incidents) {
      const auto same = std::ranges::find(all.incidents, incident.what, &StoreReport::Incident::what);
      if (same == all.incidents.end()) {
        all.incidents.push_back(std::move(incident));
        continue;
      }
      same->count += incident.count;
      if (!incident.newest.empty()) same->newest.append(same->newest.empty() ? "" : ", ").append(incident.newest);
    }
    if (all.standby_for.empty()) all.standby_for = std::move(one.standby_for);
    if (all.must_end.ok()) all.must_end = std::move(one.must_end);
  }
  return all;
}

void RoutedStore::poll() {
  for (const auto& store : stores_) store->poll();
}

void RoutedStore::begin_end() {
  for (const auto& store : stores_) store->begin_end();
}

std::size_t RoutedStore::unfinished() const {
  std::size_t count = 0;
  for (const auto& store : stores_) count += store->unfinished();
  return count;
}

bool RoutedStore::release() {
  return std::ranges::count_if(stores_, [](const std::unique_ptr<Store>& store) { return !store->release(); }) == 0;
}

Status RoutedStore::finish() {
  Status first;
  std::string all;
  for (const auto& store : stores_) {
    const Status lost = store->finish();
    if (lost.ok()) continue;
    if (first.ok()) first = lost;
    all.append(all.empty() ? "" : ", ").append(lost.message());
  }
  return first.ok() ? first : Status{first.code(), all};
}

}  // namespace rondo::store
