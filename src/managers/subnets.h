// Subnets: the subnets of the configured interfaces, by VRF, and the gateways that static routes look for in them. The managers of
// interfaces and of static routes share it. Scheduler's thread.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/dataplane/ip.h"

namespace rondo::managers {

/// A gateway that a route looks for.
struct Gateway {
  std::string vrf;  // Empty: the default VRF.
  IpAddress address;
  /// "10.0.0.2" or "Vrf1|10.0.0.2": the key of kConnected.
  std::string name() const { return vrf.empty() ? address.to_string() : vrf + "|" + address.to_string(); }
  static Gateway of(std::string_view name);
  friend auto operator<=>(const Gateway&, const Gateway&) = default;
};

class Subnets {
 public:
  void add(const std::string& port, const Prefix& address) { addresses_.emplace(port, address); }
  void remove(const std::string& port, const Prefix& address) { addresses_.erase({port, address}); }
  std::vector<Prefix> addresses_of(const std::string& port) const;
  void set_vrf(const std::string& port, const std::string& vrf);
  /// Empty: the default VRF.
  std::string vrf_of(const std::string& port) const;
  /// The port of the longest subnet of its VRF that contains 'gateway'; empty if there is none. O(addresses).
  std::string port_of(const Gateway& gateway) const;

  /// A route needs the port of 'gateway'.
  void watch(const Gateway& gateway) { ++gateways_[gateway]; }
  /// A route needs it no longer.
  void forget(const Gateway& gateway);
  /// The gateways of the VRF that routes need and that are in the subnet of 'address'. O(gateways).
  std::vector<Gateway> gateways_in(const std::string& vrf, const Prefix& address) const;

 private:
  std::set<std::pair<std::string, Prefix>> addresses_;
  std::map<std::string, std::string> vrfs_;  // By port, except those in the default VRF.
  std::map<Gateway, std::size_t> gateways_;
};

}  // namespace rondo::managers
