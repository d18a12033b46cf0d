// ConnectedRoutes: keeps a copy in another table of each route that the kernel makes in its main table to the subnet of an address. A rule
// can prefer that table to the main one. Any covering route in it, such as a default route, would then decide the packets to hosts that are
// directly connected. All devices of the main table are covered, because the rule concerns all packets.
//
// The kernel drops the copies of a device that goes down with the device's other routes, and makes its own again when the device goes up.
// The notification of that makes the copy. A reading of all routes finds what no notification reported. The copies have our protocol number
// and a metric before that of the routes of orders, so that the copy decides if both have the same prefix.
//
// Any thread, one reading at a time. A copy costs one request to the kernel, about 5 us.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "dataplane/missing_subnet.h"
#include "dataplane/netlink/decode.h"
#include "dataplane/netlink/encode.h"
#include "dataplane/netlink/request_channel.h"
#include "rondo/dataplane/dataplane.h"

namespace rondo::netlink {

class ConnectedRoutes {
 public:
  /// 'where' must outlive it.
  ConnectedRoutes(const NetworkNamespace& where, const ObjectMarks& marks) : marks_(marks), requests_(where) {}

  /// The table of the copies. kMainTable: none are made from now on.
  void keep_in(std::uint32_t table) { table_ = table == kMainTable ? 0 : table; }

  /// Takes a notification. Returns true if it is about a copy, which no order makes.
  bool notice(const Message& message);

  /// A reading of all routes: its begin, each route, and its end. see() returns true for a copy. end_reading() makes the missing copies and
  /// deletes those whose route is gone, except what a notification changed since begin_reading().
  void begin_reading();
  bool see(const Message& message);
  void end_reading();

  /// The copies that the kernel refused.
  std::vector<MissingSubnet> missing() const;

 private:
  std::optional<DeviceRoute> copy_of(const DeviceRoute& route, std::uint32_t table) const;
  bool is_copy(const DeviceRoute& route, std::uint32_t table) const;
  void add(const DeviceRoute& copy);
  void remove(const DeviceRoute& copy);
  Status write(std::uint16_t type, std::uint16_t flags, const DeviceRoute& route);

  const ObjectMarks marks_;
  std::atomic<std::uint32_t> table_ = 0;  // 0: no copies.
  mutable std::mutex mutex_;
  RequestChannel requests_;
  std::set<DeviceRoute> kept_;            // The copies that were present after the last reading or notification.
  std::map<DeviceRoute, Status> failed_;  // The copies that the kernel refused.
  bool is_reading_ = false;
  std::set<DeviceRoute> changed_;  // The copies that a notification concerned since begin_reading().
  // What the reading has seen. Only the thread that reads uses them.
  std::vector<DeviceRoute> wanted_;  // In the kernel's order, which prefers the first of one subnet.
  std::set<DeviceRoute> present_;
};

}  // namespace rondo::netlink
