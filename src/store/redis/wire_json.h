// The JSON that SONiC's swss-common writes to Redis: an event is ["op","data","f1","v1",...], the fields of a queue's entry are
// ["f1","v1",...]. Text that is not UTF-8 cannot be sent: it is replaced by U+FFFD on the way out and refused on the way in.
#pragma once

#include <string>
#include <string_view>

#include "rondo/store/change.h"
#include "rondo/store/store.h"

namespace rondo::redis {

std::string event_text(const Change& event);
/// The fields of a queue's entry; "{}" for a Delete.
std::string fields_text(const Change& change);
/// The operation of a queue's entry: "SSET", "DDEL", or "S" and the event's verb.
std::string queue_operation(const Change& change);

/// Returns InvalidArgument if the event or the entry of a queue is longer than readers accept (limits::kRedisItemBytes). O(1) for a change
/// far below that.
Status check_text(TableKind kind, const Change& change);

/// Returns InvalidArgument with the reason if the text is malformed.
Result<Change> parse_event(std::string_view text);
/// Parses an entry of a queue: the operation decides between Set, Delete and Event.
Result<Change> parse_entry(std::string_view key, std::string_view fields, std::string_view operation);
/// True if SONiC's consumer changes the row for an operation with this word. The operation's letter then decides whether it sets or deletes
/// the row.
bool names_row(std::string_view word);

}  // namespace rondo::redis
