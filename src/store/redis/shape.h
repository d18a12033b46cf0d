// Shape: the required form of the answer to a command, apart from errors. Connection checks it before a callback receives the answer. If a
// server (or another program on its port) answers otherwise, its connection closes. So no handler has to check whether an item exists.
#pragma once

#include <string_view>

#include "store/redis/reply.h"

namespace rondo::redis {

struct Shape {
  std::string_view name;  // For messages: "a count".
  bool (*fits)(const Reply& reply);
};

namespace shape {

extern const Shape kAny;
extern const Shape kCount;            // An integer that is not negative.
extern const Shape kText;             // A text, or a state such as "+OK".
extern const Shape kRow;              // Fields and their values: an even list of texts.
extern const Shape kNames;            // A list of texts.
extern const Shape kPage;             // The answer to SCAN or SSCAN: a cursor, and a list of texts.
extern const Shape kTransaction;      // The answer to EXEC: a list that is not empty.
extern const Shape kWritten;          // The answer to kReadWritten: triples of a count, a row and a row.
extern const Shape kPoppedStaged;     // The answer to kPopStaged; see scripts.h for this and the following.
extern const Shape kPoppedQueue;      // The answer to kPopQueue.
extern const Shape kRecoveredStaged;  // The answer to kRecoverStaged.
extern const Shape kRecoveredQueue;   // The answer to kRecoverQueue.
extern const Shape kLease;            // The answer to kTakeLease: a token, and a text that names the holder if the token is 0.

}  // namespace shape

/// For messages: "an integer", "a list of 3".
std::string describe(const Reply& reply);

}  // namespace rondo::redis
