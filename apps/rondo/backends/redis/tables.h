// Operations that a store's interface lacks, because no consumer needs them: listing the waiting keys of a table, and clearing a table.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <string>

#include "backends/redis/session.h"
#include "rondo/store/store.h"
#include "store/redis/table_keys.h"

namespace rondo::cli {

/// Passes {key, op} of each key that waits for its consumer; op is SET, DEL, or both in their order. Removes nothing. Staged: every key
/// once, in no order; Queue: every entry, oldest first.
Status list_pending(RedisSession& session, const redis::TableKeys& keys, TableKind kind,
                    const std::function<void(const boost::json::value&)>& on_row);

/// Deletes the waiting changes, the changes in flight and every row of this table, but nothing of another table whose name begins with its
/// name. Returns the number of each. Rows that producers write meanwhile may remain.
Result<boost::json::object> clear_table(RedisSession& session, const redis::TableKeys& keys, TableKind kind);

}  // namespace rondo::cli
