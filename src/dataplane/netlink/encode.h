// encode.h: encodes one order as one netlink request. Routes are created or replaced by (table, prefix) with one fixed metric, because the
// kernel treats another metric as another route. Every object carries our protocol number, so that a delete never matches an object of
// another program. About 10 ns a route.
#pragma once

#include <cstdint>

#include "dataplane/netlink/message.h"
#include "rondo/dataplane/op.h"

namespace rondo::netlink {

/// The marks of our objects, and how we make them; the same for every order of a data plane.
struct ObjectMarks {
  std::uint8_t protocol = 0;
  std::uint32_t metric = 0;
  bool detects_duplicates = true;  // Not a mark: LinuxDataPlaneOptions::detect_duplicates.
};

/// The device group (IFLA_GROUP) of the devices that we create: a device has no protocol number. `ip -d link` shows it.
constexpr std::uint32_t device_group(std::uint8_t protocol) noexcept { return 0x726f6e00U + protocol; }

// What every bond and every bridge of ours has.
inline constexpr std::uint32_t kBondLinkInterval = 100;  // Milliseconds between two polls of the carrier of a port.
/// Layer 3+4: frames of one connection stay on one port. <linux/if_bonding.h> has the name, and cannot be included beside <net/if.h>.
inline constexpr std::uint8_t kBondHash = 1;
inline constexpr std::uint16_t kBridgePvid = 0;  // Ports that enter the bridge get no VLAN.

/// Appends the request for 'order', which must have passed check_order(). Returns false if it does not fit; the writer is then unchanged.
bool encode(MessageWriter& writer, const Order& order, std::uint32_t sequence, const ObjectMarks& marks) noexcept;

}  // namespace rondo::netlink
