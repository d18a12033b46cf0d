// What a store's own interface does not tell or do, because no consumer needs it: which keys of a table wait, and all of a table gone.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <string>

#include "redis_session.h"
#include "rondo/store/store.h"
#include "store/redis/table_keys.h"

namespace rondo::cli {

/// {key, op} of each key that waits for its consumer; op is SET, DEL, or both in their order. Takes nothing out. Staged: every key once, in
/// no order; Queue: every entry, oldest first.
Status list_pending(RedisSession& session, const redis::TableKeys& keys, TableKind kind,
                    const std::function<void(const boost::json::value&)>& on_row);

/// Deletes what waits, what is in flight and every row of this table, and of no table whose name begins like it. Returns how many of each.
/// What producers write meanwhile may stay.
Result<boost::json::object> clear_table(RedisSession& session, const redis::TableKeys& keys, TableKind kind);

}  // namespace rondo::cli
