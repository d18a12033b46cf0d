// encode.h: encodes one order as one netlink request. Routes are created or replaced by (table, prefix) with one fixed metric, because the
// kernel treats another metric as another route. Every object carries our protocol number, so that a delete never matches an object of
// another program. About 10 ns a route.
#pragma once

#include <cstdint>

#include "dataplane/netlink/message.h"
#include "rondo/dataplane/op.h"

namespace rondo::netlink {

/// The marks of our objects; the same for every order of a data plane.
struct ObjectMarks {
  std::uint8_t protocol = 0;
  std::uint32_t metric = 0;
};

/// Appends the request for 'order', which must have passed check_order(). Returns false if it does not fit; the writer is then unchanged.
bool encode(MessageWriter& writer, const Order& order, std::uint32_t sequence, const ObjectMarks& marks) noexcept;

}  // namespace rondo::netlink
