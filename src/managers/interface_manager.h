// InterfaceManager: makes rows of INTF_TABLE from INTERFACE, VLAN_INTERFACE, PORTCHANNEL_INTERFACE and LOOPBACK_INTERFACE, as SONiC's
// intfmgrd does. The row of an interface waits for its port, and the row of an address for its interface. A loopback needs no row of PORT.
#pragma once

#include <set>
#include <string>

#include "managers/manager.h"
#include "managers/subnets.h"

namespace rondo::managers {

class InterfaceManager final : public Manager {
 public:
  /// 'subnets' must outlive the manager.
  InterfaceManager(Runtime& runtime, ManagedRows& rows, Subnets& subnets);

 private:
  Outcome set(const std::string& table, std::string_view key, const Fields& fields);
  Outcome remove(const std::string& table, std::string_view key);
  Outcome set_base(const std::string& source, const std::string& port, bool is_loopback, const Fields& fields);
  Outcome set_address(const std::string& source, const std::string& port, const Prefix& address);
  void set_vrf(const std::string& port, const std::string& vrf);
  void notify_gateways(const std::string& port, const Prefix& address, bool begins);

  Subnets& subnets_;
  std::set<std::string, std::less<>> written_;  // Interfaces.
};

}  // namespace rondo::managers
