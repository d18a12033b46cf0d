// Where rondod's tables are: in this process, or on one or several Redis, as its configuration says.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rondo/base/result.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/store.h"
#include "rondod/config.h"

namespace rondo::daemon {

/// Whether rondod can use a store at 'url'; empty is the embedded one. InvalidArgument for a malformed address and for one that holds a
/// password: the configuration is printed, so the password belongs in a file (?password_file=FILE). Unimplemented for what this program was
/// built without. Reads the password file.
Status check_store_url(const std::string& url);

/// The store that the configuration describes, for a Runtime. The error is that of check_store_url().
Result<std::function<std::unique_ptr<Store>(Scheduler&)>> choose_store(const Config& config);

/// For people: "embedded", or the addresses; never a password.
std::string describe_stores(const Config& config);

}  // namespace rondo::daemon
