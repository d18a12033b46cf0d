// encode.h: one order as one netlink request. Routes: create or replace by (table, prefix) under one fixed metric, because the kernel takes
// another metric for another route; our own protocol on everything, so that a delete never hits what others made. About 10 ns a route.
#pragma once

#include <cstdint>

#include "dataplane/netlink/message.h"
#include "rondo/dataplane/op.h"

namespace rondo::netlink {

/// What marks our objects; the same for every order of a data plane.
struct ObjectMarks {
  std::uint8_t protocol = 0;
  std::uint32_t metric = 0;
};

/// Appends the request for 'order', which has passed check_order(). False when it does not fit; the writer is then unchanged.
bool encode(MessageWriter& writer, const Order& order, std::uint32_t sequence, const ObjectMarks& marks) noexcept;

}  // namespace rondo::netlink
