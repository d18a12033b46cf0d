// See stores.h.
#include "rondod/stores.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "rondo/store/memory_store.h"
#include "store/routed_store.h"

namespace rondo::daemon {
namespace {

using Place = std::pair<std::string, std::string>;  // Address and separator: groups with the same share a store.

Result<StoreMaker> maker_of(const std::string& url, const std::string& separator, const OnFailover& on_failover) {
  if (!url.empty()) return redis_maker(url, separator.front(), on_failover);
  return StoreMaker{[](Scheduler& scheduler) { return make_memory_store(scheduler); }};
}

}  // namespace

Status check_store_url(const std::string& url) {
  const Result<StoreMaker> maker = maker_of(url, ":", {});
  return maker ? Status{} : maker.error();
}

Result<StoreMaker> choose_store(const Config& config, const OnFailover& on_failover) {
  const Place main{config.store_url, config.store_separator};
  Result<StoreMaker> rest = maker_of(main.first, main.second, on_failover);
  if (!rest || config.store_groups.empty()) return rest;
  std::map<Place, std::vector<std::string>> tables;
  for (const StoreGroup& group : config.store_groups) {
    const Place place{group.url, group.separator};
    if (place == main) continue;
    std::vector<std::string>& there = tables[place];
    there.insert(there.end(), group.tables.begin(), group.tables.end());
  }
  std::vector<std::pair<StoreMaker, std::vector<std::string>>> routes;
  for (auto& [place, names] : tables) {
    Result<StoreMaker> maker = maker_of(place.first, place.second, on_failover);
    if (!maker) return maker;
    routes.emplace_back(std::move(*maker), std::move(names));
  }
  return StoreMaker{[rest = std::move(*rest), routes = std::move(routes)](Scheduler& scheduler) -> std::unique_ptr<Store> {
    auto routed = std::make_unique<store::RoutedStore>(rest(scheduler));
    for (const auto& [make, names] : routes) routed->route(make(scheduler), names);
    return routed;
  }};
}

std::vector<std::unique_ptr<Replay>> replay_rows(const Config& config, Scheduler& scheduler, const std::vector<TableSpec>& tables) {
  std::map<Place, std::vector<std::string>> places;
  for (const TableSpec& spec : tables) {
    if (spec.kind != TableKind::Staged) continue;
    Place place{config.store_url, config.store_separator};
    for (const StoreGroup& group : config.store_groups) {
      if (std::ranges::find(group.tables, spec.name) != group.tables.end()) place = {group.url, group.separator};
    }
    if (!place.first.empty()) places[place].push_back(spec.name);
  }
  std::vector<std::unique_ptr<Replay>> replays;
  for (const auto& [place, names] : places) {
    auto replay = redis_replay(scheduler, place.first, place.second.front(), names);
    if (replay != nullptr) replays.push_back(std::move(replay));
  }
  return replays;
}

std::string describe_stores(const Config& config) {
  const auto place = [](const std::string& url) { return url.empty() ? std::string{"embedded"} : url; };
  std::string text = place(config.store_url);
  for (const StoreGroup& group : config.store_groups) {
    std::string names;
    for (const std::string& name : group.tables) names.append(names.empty() ? "" : ",").append(name);
    text.append("; ").append(names).append(": ").append(place(group.url));
  }
  return text;
}

}  // namespace rondo::daemon
