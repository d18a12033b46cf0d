// See registry.h. CMakeLists.txt defines RONDO_WITH_... for the optional components of this build.
#include "rondod/stores/registry.h"

#include <algorithm>
#include <array>
#include <utility>

#include "rondo/store/memory_store.h"

namespace rondo::daemon {
namespace {

/// A part of rondod that a build can lack, and the packages that it needs.
struct Part {
  std::string_view name;
  std::string_view packages;
};

/// The members that are null do not apply to the kind, or are not in this build.
struct StoreKind {
  Part part;
  bool (*is_named_by)(std::string_view url);
  bool is_remote = false;
  Result<StoreMaker> (*make)(const StorePlace& place, const StoreHooks& hooks) = nullptr;
  std::optional<std::string> (*table_file)(std::string_view url) = nullptr;
  Status (*check_content)(const std::string& url) = nullptr;
  std::vector<std::string> (*read_files)(const std::string& url) = nullptr;
};

constexpr StoreKind kEmbedded{
    .part = {"embedded tables", ""},
    .is_named_by = [](std::string_view url) { return url.empty(); },
    .make = [](const StorePlace&,
               const StoreHooks&) { return Result<StoreMaker>{[](Scheduler& scheduler) { return make_memory_store(scheduler); }}; }};

constexpr StoreKind kFile{
    .part = {"durable tables", "libsqlite3-dev"},
    .is_named_by = [](std::string_view url) { return url.starts_with("file:"); },
#ifdef RONDO_WITH_DURABLE
    .make = [](const StorePlace& place, const StoreHooks& hooks) { return make_durable(place.url, hooks.durable); },
    .table_file = durable_file,
    .check_content = check_durable_content,
#endif
};

/// Any scheme with "redis" in it: parse_redis_address() reports a misspelt one in detail.
constexpr bool names_redis(std::string_view url) {
  const std::size_t end = url.find("://");
  const std::string_view scheme = url.substr(0, end);
  return end != std::string_view::npos && (scheme == "unix" || scheme.find("redis") != std::string_view::npos);
}

constexpr StoreKind kRedis{
    .part = {"Redis", "libhiredis-dev and libssl-dev"},
    .is_named_by = names_redis,
    .is_remote = true,
#ifdef RONDO_WITH_REDIS
    .make = [](const StorePlace& place, const StoreHooks& hooks) { return make_redis(place, hooks.redis); },
    .read_files = redis_files,
#endif
};

constexpr std::array<StoreKind, 3> kKinds{kEmbedded, kFile, kRedis};

const StoreKind* find_kind(std::string_view url) {
  const auto found = std::ranges::find_if(kKinds, [url](const StoreKind& kind) { return kind.is_named_by(url); });
  return found == kKinds.end() ? nullptr : &*found;
}

Status lacking(const Part& part) {
  return {StatusCode::Unimplemented,
          "this rondod was built without " + std::string{part.name} + " (missing: " + std::string{part.packages} + ")"};
}

}  // namespace

Result<StoreMaker> make_store(const StorePlace& place, const StoreHooks& hooks) {
  const StoreKind* const kind = find_kind(place.url);
  if (kind == nullptr) {
    return failure(
        StatusCode::InvalidArgument,
        "a file is file:///PATH, a Redis redis://, rediss://, unix:/// or redis+sentinel://, as in file:///var/lib/rondo/tables or "
        "redis://127.0.0.1:6379/0");
  }
  return kind->make == nullptr ? failure(lacking(kind->part)) : kind->make(place, hooks);
}

bool is_remote(std::string_view url) {
  const StoreKind* const kind = find_kind(url);
  return kind == nullptr || kind->is_remote;
}

std::optional<std::string> table_file(std::string_view url) {
  const StoreKind* const kind = find_kind(url);
  return kind == nullptr || kind->table_file == nullptr ? std::nullopt : kind->table_file(url);
}

Status check_content(const std::string& url) {
  const StoreKind* const kind = find_kind(url);
  return kind == nullptr || kind->check_content == nullptr ? Status{} : kind->check_content(url);
}

std::vector<std::string> read_files(const std::string& url) {
  const StoreKind* const kind = find_kind(url);
  return kind == nullptr || kind->read_files == nullptr ? std::vector<std::string>{} : kind->read_files(url);
}

#ifndef RONDO_WITH_ZMQ
constexpr Part kDirectTables{"direct tables", "libzmq3-dev"};

Status check_direct(const DirectSettings&) { return lacking(kDirectTables); }

Result<StoreMaker> make_direct(const DirectSettings&, std::vector<std::string>, StoreMaker, DirectHooks) {
  return failure(lacking(kDirectTables));
}
#endif

}  // namespace rondo::daemon
