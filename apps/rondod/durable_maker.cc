#include "rondod/durable_maker.h"

#include <memory>
#include <utility>

#include "rondo/store/durable_store.h"
#include "rondo/store/memory_store.h"

namespace rondo::daemon {

bool is_durable(std::string_view url) { return url.starts_with("file:"); }

bool waits_for_disk(std::string_view url) {
  if (!is_durable(url)) return false;
  const Result<DurableStoreOptions> options = parse_durable_address(url);
  return options && options->durability == Durability::EveryBatch;
}

Result<StoreMaker> durable_maker(const std::string& url, DurableHooks hooks) {
  Result<DurableStoreOptions> options = parse_durable_address(url);
  if (!options) return failure(options.error());
  return StoreMaker{[options = std::move(*options), hooks = std::move(hooks)](Scheduler& scheduler) -> std::unique_ptr<Store> {
    Result<std::unique_ptr<DurableStore>> store = DurableStore::open(scheduler, options);
    if (!store) {
      hooks.on_failure(store.error());
      return make_memory_store(scheduler);
    }
    const DurableStoreStats& stats = (*store)->stats();
    for (const std::string& lost : stats.damage) hooks.on_damage(options.path, stats.damaged_file, lost);
    hooks.on_restored(options.path, stats.restored);
    return std::move(*store);
  }};
}

}  // namespace rondo::daemon
