// Where rondod's tables are according to its configuration: in this process, or on one or several Redis.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/store.h"
#include "rondod/configuration/config.h"
#include "rondod/stores/registry.h"

namespace rondo::daemon {

/// Checks that rondod can use a store at 'url'; empty is the embedded one. InvalidArgument for a malformed address and for one with a
/// password: the configuration is printed, so a password belongs in a file (?password_file=FILE). Unimplemented for kinds that this
/// program was built without. Reads the password file.
Status check_store_url(const std::string& url);

/// Makes the store that the configuration describes, for a Runtime. Returns the errors of check_store_url() and check_direct(); the maker
/// returns the error of a file or a direct server that cannot be opened.
Result<StoreMaker> choose_store(const Config& config, const StoreHooks& hooks);

/// NotFound, with the nearest name, if a table of a group has no consumer.
Status check_groups(const Config& config, const std::vector<ConsumerStats>& consumers);

/// True for the tables of due runs, one a priority. They are always embedded, because the database of jobs has the runs.
bool is_run_table(const Config& config, std::string_view table);
/// True if a second rondod with this configuration can wait until the first one ends: all tables are on Redis, where leases that are to be
/// waited for decide who consumes them.
bool may_stand_by(const Config& config);

/// The addresses of the stores as text, or "embedded"; never with a password.
std::string describe_stores(const Config& config);

}  // namespace rondo::daemon
