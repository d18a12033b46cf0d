// Where rondod's tables are: in this process, or on one or several Redis, as its configuration says.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/store.h"
#include "rondod/config.h"
#include "rondod/direct_maker.h"
#include "rondod/durable_maker.h"
#include "rondod/redis_maker.h"

namespace rondo::daemon {

/// Whether rondod can use a store at 'url'; empty is the embedded one. InvalidArgument for a malformed address and for one that holds a
/// password: the configuration is printed, so the password belongs in a file (?password_file=FILE). Unimplemented for what this program was
/// built without. Reads the password file.
Status check_store_url(const std::string& url);

/// What the stores tell.
struct StoreHooks {
  RedisHooks redis = {};
  DirectHooks direct = {};
  DurableHooks durable = {};
};

/// The store that the configuration describes, for a Runtime. The error is that of check_store_url() or check_direct(); a file or a direct
/// server that cannot be opened is the maker's answer.
Result<StoreMaker> choose_store(const Config& config, const StoreHooks& hooks);

/// Whether a write to 'table' is accepted before it is done: on a Redis, or on the disk. What goes into a direct table is staged in this
/// process.
bool ends_elsewhere(const Config& config, std::string_view table);
/// Whether it counts only when it is on the disk.
bool waits_for_disk(const Config& config, std::string_view table);
/// Whether the rows of 'table' are there again after the end of this process: a Redis or a file has them.
bool is_kept(const Config& config, std::string_view table);

/// For people: "embedded", or the addresses; never a password.
std::string describe_stores(const Config& config);

}  // namespace rondo::daemon
