// See registry.h. CMakeLists.txt defines RONDO_WITH_... for the optional components of this build.
#include "backends/registry.h"

#include <algorithm>
#include <array>
#include <string>

#ifdef RONDO_WITH_DURABLE
#include "backends/file/backend.h"
#endif
#ifdef RONDO_WITH_REDIS
#include "backends/redis/backend.h"
#endif

namespace rondo::cli {
namespace {

bool names_file(std::string_view where) { return where.starts_with("file:"); }

/// A name without a scheme is that of a database of SONiC's. Any other scheme with "redis" in it is a misspelt one, which
/// parse_redis_address() reports in detail.
bool names_redis(std::string_view where) {
  const std::size_t end = where.find("://");
  if (names_file(where) || end == std::string_view::npos) return !names_file(where);
  const std::string_view scheme = where.substr(0, end);
  return scheme == "unix" || scheme.find("redis") != std::string_view::npos;
}

constexpr std::array<StoreKind, 2> kKinds{{
    {.name = "durable tables",
     .packages = "libsqlite3-dev",
     .is_named_by = names_file,
     .answerer = manual::File,
#ifdef RONDO_WITH_DURABLE
     .open = open_file
#else
     .open = nullptr
#endif
    },
    {.name = "Redis",
     .packages = "libhiredis-dev and libssl-dev",
     .is_named_by = names_redis,
     .answerer = manual::Redis,
#ifdef RONDO_WITH_REDIS
     .open = open_redis
#else
     .open = nullptr
#endif
    },
}};

}  // namespace

const StoreKind* find_store_kind(std::string_view where) {
  const auto found = std::ranges::find_if(kKinds, [where](const StoreKind& kind) { return kind.is_named_by(where); });
  return found == kKinds.end() ? nullptr : &*found;
}

Result<std::unique_ptr<Backend>> open_store(const Options& options) {
  const StoreKind* const kind = find_store_kind(options.store.where);
  if (kind == nullptr)
    return failure(
        StatusCode::InvalidArgument,
        "--store " + options.store.where + ": unknown kind of store; known: redis, rediss, unix, redis+sentinel, rediss+sentinel, file");
  if (kind->open == nullptr) {
    return failure(StatusCode::Unimplemented,
                   "--store: this rondo was built without " + std::string{kind->name} + " (missing: " + std::string{kind->packages} + ")");
  }
  return kind->open(options);
}

}  // namespace rondo::cli
