// See placement.h.
#include "rondod/stores/placement.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "admin/suggest.h"
#include "managers/managers.h"
#include "rondo/base/limits.h"
#include "store/routed_store.h"

namespace rondo::daemon {
namespace {

constexpr std::string_view kRunTables = "JOB_RUN_";

void add_run_tables(std::vector<std::string>& names) {
  for (unsigned level = 0; level < limits::kPriorities; ++level) names.push_back(std::string{kRunTables} + std::to_string(level));
}

}  // namespace

Status check_store_url(const std::string& url) {
  const Result<StoreMaker> maker = make_store({.url = url}, {});
  return maker ? Status{} : maker.error();
}

Result<StoreMaker> choose_store(const Config& config, const StoreHooks& hooks) {
  Result<StoreMaker> rest = make_store(config.store, hooks);
  if (!rest) return rest;
  std::map<StorePlace, std::vector<std::string>> tables;
  std::vector<std::pair<StoreMaker, std::vector<std::string>>> routes;
  const std::vector<StoreGroup> groups = all_groups(config);
  for (const StoreGroup& group : groups) {
    if (group.direct) {
      Result<StoreMaker> wrapped = make_store(group.place, hooks);
      if (!wrapped) return wrapped;
      Result<StoreMaker> direct = make_direct(*group.direct, group.tables, std::move(*wrapped), hooks.direct);
      if (!direct) return direct;
      routes.emplace_back(std::move(*direct), group.tables);
    } else if (group.place != config.store) {
      std::vector<std::string>& there = tables[group.place];
      there.insert(there.end(), group.tables.begin(), group.tables.end());
    }
  }
  if (config.jobs.enabled && !config.store.url.empty()) add_run_tables(tables[StorePlace{}]);
  for (auto& [place, names] : tables) {
    Result<StoreMaker> maker = make_store(place, hooks);
    if (!maker) return maker;
    routes.emplace_back(std::move(*maker), std::move(names));
  }
  if (routes.empty()) return rest;
  return StoreMaker{[rest = std::move(*rest), routes = std::move(routes)](Scheduler& scheduler) -> Result<std::unique_ptr<Store>> {
    Result<std::unique_ptr<Store>> main = rest(scheduler);
    if (!main) return main;
    auto routed = std::make_unique<store::RoutedStore>(std::move(*main));
    for (const auto& [make, names] : routes) {
      Result<std::unique_ptr<Store>> made = make(scheduler);
      if (!made) return made;
      routed->route(std::move(*made), names);
    }
    return routed;
  }};
}

Status check_groups(const Config& config, const std::vector<ConsumerStats>& consumers) {
  // Excludes the store's tables: a direct table exists even if no consumer uses it, and such a table stops its server.
  std::vector<std::string_view> names;
  for (const ConsumerStats& consumer : consumers) names.push_back(consumer.table);
  const std::vector<std::string> of_managers = config.managers.enabled ? managers::config_tables() : std::vector<std::string>{};
  names.insert(names.end(), of_managers.begin(), of_managers.end());  // A standby has no managers.
  for (const StoreGroup& group : config.store_groups) {
    for (const std::string& table : group.tables) {
      if (std::ranges::find(names, table) != names.end()) continue;
      return {StatusCode::NotFound, "no table '" + table + "'" + did_you_mean(table, names)};
    }
  }
  return {};
}

bool is_run_table(const Config& config, std::string_view table) { return config.jobs.enabled && table.starts_with(kRunTables); }

bool may_stand_by(const Config& config) {
  const auto waits = [](const StorePlace& place) { return is_remote(place.url) && place.lease_ms > 0 && place.standby == Standby::Wait; };
  const std::vector<StoreGroup> groups = all_groups(config);
  return waits(config.store) &&
         std::ranges::all_of(groups, [&waits](const StoreGroup& group) { return !group.direct && waits(group.place); });
}

std::string describe_stores(const Config& config) {
  const auto place = [](const std::string& url) { return url.empty() ? std::string{"embedded"} : url; };
  std::string text = place(config.store.url);
  const std::vector<StoreGroup> groups = all_groups(config);
  for (const StoreGroup& group : groups) {
    std::string names;
    for (const std::string& name : group.tables) names.append(names.empty() ? "" : ",").append(name);
    text.append("; ").append(names).append(": ").append(place(group.place.url));
    if (group.direct) text.append(", fed at ").append(group.direct->endpoint);
  }
  return text;
}

}  // namespace rondo::daemon
