// Shape: what the answer to a command must be, beside an error. Connection checks it before anybody sees the answer: a server (or whatever
// listens where one should) that answers otherwise loses its connection, and no handler has to ask whether an item is there.
#pragma once

#include <string_view>

#include "store/redis/reply.h"

namespace rondo::redis {

struct Shape {
  std::string_view name;  // For people: "a count".
  bool (*fits)(const Reply& reply);
};

namespace shape {

extern const Shape kAny;
extern const Shape kCount;            // An integer that is not negative.
extern const Shape kText;             // Or a state such as "+OK".
extern const Shape kRow;              // Fields and their values: an even list of texts.
extern const Shape kPage;             // Of SCAN or SSCAN: a cursor, and a list of texts.
extern const Shape kTransaction;      // Of EXEC: a list that is not empty.
extern const Shape kWritten;          // Of kReadWritten: triples of a count, a row and a row.
extern const Shape kPoppedStaged;     // Of kPopStaged and the following scripts, see scripts.h.
extern const Shape kPoppedQueue;      // Of kPopQueue.
extern const Shape kRecoveredStaged;  // Of kRecoverStaged.
extern const Shape kRecoveredQueue;   // Of kRecoverQueue.
extern const Shape kLease;            // Of kTakeLease: a count, and a text where that is 0.

}  // namespace shape

/// For messages: "an integer", "a list of 3".
std::string describe(const Reply& reply);

}  // namespace rondo::redis
