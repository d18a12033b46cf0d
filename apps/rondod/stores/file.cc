#include "rondod/stores/file.h"

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "rondo/store/memory_store.h"
#include "store/durable/durable_file.h"
#include "store/durable/link_target.h"

namespace rondo::daemon {

namespace {

class OpenFile final : public TableFile {
 public:
  OpenFile(DurableStore& store, std::string path) : store_(store), path_(std::move(path)) {}
  const std::string& path() const override { return path_; }
  const DurableStoreStats& stats() const override { return store_.stats(); }
  Status health() const override { return store_.health(); }

 private:
  DurableStore& store_;
  std::string path_;
};

}  // namespace

std::optional<std::string> durable_file(std::string_view url) {
  const Result<DurableStoreOptions> options = parse_durable_address(url);
  if (!options) return {};
  std::error_code unknown;
  const std::filesystem::path path = std::filesystem::weakly_canonical(store::durable::link_target(options->path), unknown);
  return unknown ? options->path : path.string();
}

Status check_durable_content(const std::string& url) {
  const Result<DurableStoreOptions> options = parse_durable_address(url);
  if (!options) return options.error();
  Status found = check_durable_file(options->path);
  return found.code() == StatusCode::FailedPrecondition || found.code() == StatusCode::DataLoss ? found : Status{};
}

Result<StoreMaker> make_durable(const std::string& url, DurableHooks hooks) {
  Result<DurableStoreOptions> options = parse_durable_address(url);
  if (!options) return failure(options.error());
  return StoreMaker{[options = std::move(*options), hooks = std::move(hooks)](Scheduler& scheduler) -> Result<std::unique_ptr<Store>> {
    Result<std::unique_ptr<DurableStore>> store = DurableStore::open(scheduler, options);
    if (!store) return store;
    const DurableStoreStats& stats = (*store)->stats();
    if (!stats.not_shrunk.empty()) hooks.on_not_shrunk(options.path, stats.not_shrunk);
    hooks.on_restored(options.path, stats.restored);
    hooks.on_open(std::make_unique<OpenFile>(**store, options.path));
    return std::move(*store);
  }};
}

}  // namespace rondo::daemon
