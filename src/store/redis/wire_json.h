// The JSON that SONiC's swss-common puts into Redis: an event is ["op","data","f1","v1",...], the fields of a queue's entry are
// ["f1","v1",...]. Text that is not UTF-8 cannot pass: it is replaced by U+FFFD on the way out and refused on the way in.
#pragma once

#include <string>
#include <string_view>

#include "rondo/store/change.h"

namespace rondo::redis {

std::string event_text(const Change& event);
/// Of a queue's entry; "{}" for a Delete.
std::string fields_text(const Change& change);
/// "SSET", "DDEL", or "S" and the event's verb.
std::string queue_operation(const Change& change);

/// InvalidArgument that says what is wrong.
Result<Change> parse_event(std::string_view text);
/// An entry of a queue: the operation decides between Set, Delete and Event.
Result<Change> parse_entry(std::string_view key, std::string_view fields, std::string_view operation);
/// Does SONiC's consumer touch the row for an operation of this word? Its letter then says whether it sets or deletes it.
bool names_row(std::string_view word);

}  // namespace rondo::redis
