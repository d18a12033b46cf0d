// SubnetRoutes: which subnets have lost the route that the kernel makes for an address. A monitor's notifications keep it up to date,
// because to read these routes the kernel walks all of its routes at once: 200 ms with a full table, in which port events wait. The routes
// are read once, and again after a gap in the notifications. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "dataplane/netlink/message.h"
#include "rondo/dataplane/dataplane.h"

namespace rondo::netlink {

class SubnetRoutes {
 public:
  using Subnet = std::pair<IfIndex, Prefix>;
  using Read = std::function<Result<std::vector<Subnet>>()>;

  /// A monitor delivers the notifications from now on, or does not do so any more.
  void follow(bool followed);
  /// Takes a notification. Returns the subnet if its route was deleted, or replaced by that of another program, of which the kernel
  /// reports the new route only. A route of another table, or beside that of the kernel, may be taken for such a one.
  std::optional<Subnet> notice(const Message& message);
  /// Notifications were lost.
  void notice_gap();

  /// Sets AddressEntry::has_subnet_route of all addresses of the data plane. 'read' returns the subnets that have a route; it is called
  /// unless a monitor has reported all changes since the last call of it. 'may_read': false if that would block the kernel for long; then
  /// a loss that was not reported stays unknown.
  Status note(std::vector<AddressEntry>& entries, bool may_read, const Read& read);

 private:
  std::optional<Subnet> deleted(const Message& message);
  std::optional<Subnet> replaced(const Message& message);

  std::mutex mutex_;
  std::set<Subnet> subnets_;  // At the last call of note().
  std::set<Subnet> lost_;
  bool followed_ = false;
  bool known_ = false;  // The routes were read while a monitor followed them, and it has reported all changes since.
};

}  // namespace rondo::netlink
