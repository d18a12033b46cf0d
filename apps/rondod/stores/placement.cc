// See placement.h.
#include "rondod/stores/placement.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "rondo/store/memory_store.h"
#include "store/routed_store.h"

namespace rondo::daemon {
namespace {

/// "files://" or "http://" is neither a file nor a Redis.
bool is_of_no_kind(std::string_view url) {
  const std::size_t end = url.find("://");
  const std::string_view kind = url.substr(0, end);
  return end == std::string_view::npos || (kind != "unix" && kind.find("redis") == std::string_view::npos);
}

Result<StoreMaker> maker_of(const StorePlace& place, const StoreHooks& hooks) {
  if (is_durable(place.url)) return durable_maker(place.url, hooks.durable);
  if (!place.url.empty() && is_of_no_kind(place.url)) {
    return failure(
        Code::InvalidArgument,
        "a file is file:///PATH, a Redis redis://, rediss://, unix:/// or redis+sentinel://, as in file:///var/lib/rondo/tables or "
        "redis://127.0.0.1:6379/0");
  }
  if (!place.url.empty()) return redis_maker(place, hooks.redis);
  return StoreMaker{[](Scheduler& scheduler) { return make_memory_store(scheduler); }};
}

/// Returns null if the table is in the main store.
const StoreGroup* group_of(const Config& config, std::string_view table) {
  for (const StoreGroup& group : config.store_groups) {
    if (std::ranges::find(group.tables, table) != group.tables.end()) return &group;
  }
  return nullptr;
}

bool is_on_redis(const Config& config, std::string_view table) {
  const StoreGroup* const group = group_of(config, table);
  const std::string& url = group == nullptr ? config.store.url : group->place.url;
  return !url.empty() && !is_durable(url) && (group == nullptr || !group->direct);
}

}  // namespace

Status check_store_url(const std::string& url) {
  const Result<StoreMaker> maker = maker_of({.url = url}, {});
  return maker ? Status{} : maker.error();
}

Result<StoreMaker> choose_store(const Config& config, const StoreHooks& hooks) {
  Result<StoreMaker> rest = maker_of(config.store, hooks);
  if (!rest || config.store_groups.empty()) return rest;
  std::map<StorePlace, std::vector<std::string>> tables;
  std::vector<std::pair<StoreMaker, std::vector<std::string>>> routes;
  for (const StoreGroup& group : config.store_groups) {
    if (group.direct) {
      Result<StoreMaker> wrapped = maker_of(group.place, hooks);
      if (!wrapped) return wrapped;
      Result<StoreMaker> direct = direct_maker(*group.direct, group.tables, std::move(*wrapped), hooks.direct);
      if (!direct) return direct;
      routes.emplace_back(std::move(*direct), group.tables);
    } else if (group.place != config.store) {
      std::vector<std::string>& there = tables[group.place];
      there.insert(there.end(), group.tables.begin(), group.tables.end());
    }
  }
  for (auto& [place, names] : tables) {
    Result<StoreMaker> maker = maker_of(place, hooks);
    if (!maker) return maker;
    routes.emplace_back(std::move(*maker), std::move(names));
  }
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

bool ends_elsewhere(const Config& config, std::string_view table) { return is_on_redis(config, table) || waits_for_disk(config, table); }

bool is_kept(const Config& config, std::string_view table) {
  const StoreGroup* const group = group_of(config, table);
  return !(group == nullptr ? config.store.url : group->place.url).empty();
}

bool waits_for_disk(const Config& config, std::string_view table) {
  const StoreGroup* const group = group_of(config, table);
  if (group == nullptr) return waits_for_disk(config.store.url);
  return !group->direct && waits_for_disk(group->place.url);
}

std::string describe_stores(const Config& config) {
  const auto place = [](const std::string& url) { return url.empty() ? std::string{"embedded"} : url; };
  std::string text = place(config.store.url);
  for (const StoreGroup& group : config.store_groups) {
    std::string names;
    for (const std::string& name : group.tables) names.append(names.empty() ? "" : ",").append(name);
    text.append("; ").append(names).append(": ").append(place(group.place.url));
    if (group.direct) text.append(", fed at ").append(group.direct->endpoint);
  }
  return text;
}

}  // namespace rondo::daemon
