// Subnets: the subnets of the configured interfaces, and the gateways that static routes look for in them. The managers of interfaces and
// of static routes share it. Scheduler's thread.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rondo/dataplane/ip.h"

namespace rondo::managers {

class Subnets {
 public:
  void add(const std::string& port, const Prefix& address) { addresses_.emplace(port, address); }
  void remove(const std::string& port, const Prefix& address) { addresses_.erase({port, address}); }
  /// The port of the longest subnet that contains 'gateway'; empty if there is none. O(addresses).
  std::string port_of(const IpAddress& gateway) const;

  /// A route needs the port of 'gateway'.
  void look_for(const IpAddress& gateway) { ++gateways_[gateway]; }
  /// A route needs it no longer.
  void forget(const IpAddress& gateway);
  /// The gateways that routes need and that are in the subnet of 'address'. O(gateways).
  std::vector<IpAddress> gateways_in(const Prefix& address) const;

 private:
  std::set<std::pair<std::string, Prefix>> addresses_;
  std::map<IpAddress, std::size_t> gateways_;
};

}  // namespace rondo::managers
