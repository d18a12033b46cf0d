// TableKeys: the names under which SONiC's swss-common keeps a table in Redis, and our own names beside them (ADR 0008, ADR 0011).
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

  /// The prefix of a Queue's row with this key. SONiC omits the separator for the empty key in a Queue, but not in other tables.
  std::string_view queue_rows(std::string_view key) const noexcept {
    return std::string_view{rows}.substr(0, rows.size() - (key.empty() ? 1 : 0));
  }

  std::string rows;      // Prefix of the rows' hashes.
  std::string staging;   // Prefix of the staged hashes.
  std::string pending;   // Set of the keys that wait for a pop.
  std::string deleted;   // Set of the pending keys whose row is deleted first.
  std::string queue;     // List of a Queue's entries.
  std::string channel;   // The channel on which a write sends its notification.
  std::string inflight;  // Hash: what was popped and not yet acknowledged, by batch. Used by Rondo only.
};

/// Hash of a database: the server to which a store last connected, see epoch.h. Used by Rondo only.
inline constexpr std::string_view kEpochKey = "RONDO_EPOCH";

/// The key that names the store which may consume the tables of a database, see lease.h. Used by Rondo only.
inline constexpr std::string_view kLeaseKey = "RONDO_LEASE";

/// Redis has no empty hash. By SONiC's convention, a row without fields holds this field, and readers leave it out.
inline constexpr std::string_view kNoField = "NULL";

}  // namespace rondo::redis
