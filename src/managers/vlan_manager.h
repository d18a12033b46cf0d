// VlanManager: makes rows of VLAN_TABLE from VLAN and rows of VLAN_MEMBER_TABLE from VLAN_MEMBER, as SONiC's vlanmgrd does.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "managers/manager.h"

namespace rondo::managers {

class VlanManager final : public Manager {
 public:
  VlanManager(Runtime& runtime, ManagedRows& rows);

 private:
  Outcome set(std::string_view key, const Fields& fields);
  Outcome remove(std::string_view key);
  Outcome set_member(std::string_view key, const Fields& fields);
  Outcome remove_member(std::string_view key);

  std::set<std::string, std::less<>> written_;  // VLANs whose row is in VLAN_TABLE.
};

}  // namespace rondo::managers
