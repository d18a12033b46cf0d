// TableKeys: the names under which SONiC's swss-common keeps a table in Redis, and ours beside them (ADR 0008,
// ADR 0011).
#pragma once

#include <string>
#include <string_view>

namespace rondo::redis {

struct TableKeys {
  TableKeys(const std::string& table, char separator, unsigned database)
      : rows(table + separator),
        staging("_" + table + separator),
        pending(table + "_KEY_SET"),
        deleted(table + "_DEL_SET"),
        queue(table + "_KEY_VALUE_OP_QUEUE"),
        channel(table + "_CHANNEL@" + std::to_string(database)),
        inflight("RONDO_INFLIGHT@" + table) {}

  /// What precedes 'key' in the name of a Queue's row. SONiC omits the separator for the empty key; its other tables do not.
  std::string_view queue_rows(std::string_view key) const noexcept {
    return std::string_view{rows}.substr(0, rows.size() - (key.empty() ? 1 : 0));
  }

  std::string rows;      // Prefix of the rows' hashes.
  std::string staging;   // Prefix of the staged hashes.
  std::string pending;   // Set of the keys that wait for a pop.
  std::string deleted;   // Set of those among them whose row goes first.
  std::string queue;     // List of a Queue's entries.
  std::string channel;   // Where a write says that there is something.
  std::string inflight;  // Hash: what was popped and not yet acknowledged, by batch. Ours alone.
};

/// Hash of a database: which server a store of ours last came up on, see epoch.h. Ours alone.
inline constexpr std::string_view kEpochKey = "RONDO_EPOCH";

/// Which store may consume the tables of a database, see lease.h. Ours alone.
inline constexpr std::string_view kLeaseKey = "RONDO_LEASE";

/// Redis has no empty hash: a row without fields holds this one, by SONiC's convention, and readers leave it out.
inline constexpr std::string_view kNoField = "NULL";

}  // namespace rondo::redis
