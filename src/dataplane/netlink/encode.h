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

/// The device group (IFLA_GROUP) of the devices that we create: a device has no protocol number. `ip -d link` shows it.
constexpr std::uint32_t device_group(std::uint8_t protocol) noexcept { return 0x726f6e00U + protocol; }

/// Appends the request for 'order', which must have passed check_order(). Returns false if it does not fit; the writer is then unchanged.
bool encode(MessageWriter& writer, const Order& order, std::uint32_t sequence, const ObjectMarks& marks) noexcept;

}  // namespace rondo::netlink
