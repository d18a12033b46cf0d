// The kinds of stores that rondod's tables can be in: what names them, what the build needs for them, and how they open. A new kind is one
// entry in registry.cc and its files in CMakeLists.txt. Direct tables (direct.h) have their rows in one of these stores.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/result.h"
#include "rondod/configuration/config.h"
#include "rondod/stores/direct.h"
#include "rondod/stores/file.h"
#include "rondod/stores/redis.h"
#include "rondod/stores/store_maker.h"

namespace rondo::daemon {

/// The callbacks of the stores.
struct StoreHooks {
  RedisHooks redis = {};
  DirectHooks direct = {};
  DurableHooks durable = {};
};

/// Makes a store at 'place.url'; empty is the embedded one. InvalidArgument for an address that is malformed or of no kind. Unimplemented,
/// with the packages that were missing, for a kind that this program was built without.
Result<StoreMaker> make_store(const StorePlace& place, const StoreHooks& hooks);

/// True unless the rows are in this process or in its file. An address of no kind counts as remote; make_store() reports it.
bool is_remote(std::string_view url);
/// The file with the tables of the store at 'url', without links and dots, so that two addresses of one file have one path. Empty for a
/// kind of store that has none, and for one that this program was built without.
std::optional<std::string> table_file(std::string_view url);
/// Why the start would refuse what is in the file of the store at 'url'; ok for a store without a file.
Status check_content(const std::string& url);
/// The files that 'url' names and that must be readable, such as those of certificates; 'url' must have been checked.
std::vector<std::string> read_files(const std::string& url);

}  // namespace rondo::daemon
