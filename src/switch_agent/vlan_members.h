// VlanMembers: owns VLAN_MEMBER_TABLE. An untagged member is a port in the bridge of its VLAN. A tagged member is an 802.1Q device on the
// port, in that bridge: this Orch creates and deletes it, and it has the MTU of the port. A port is an untagged member of one VLAN, and a
// port with a row of INTF_TABLE of none; rows that ask for more wait. A row that waits for its port, such as one whose device is absent,
// lets rows of INTF_TABLE and LAG_MEMBER_TABLE that wait for the same port go first: so the same row has the port at each start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/programmer.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/plane_state.h"
#include "switch_agent/port_ids.h"
#include "switch_agent/refusals.h"
#include "switch_agent/retry_timer.h"
#include "switch_agent/schema.h"
#include "switch_agent/unreported.h"

namespace rondo::switch_agent {

/// The key of the fact kVlanMember and of the row.
std::string vlan_member_key(std::string_view vlan, std::string_view port);

class VlanMembers final : public Orch {
 public:
  VlanMembers(Runtime& runtime, Programmer& programmer, PortIds& ids);

  /// Called at the end of the restart: ports of PORT_TABLE that an earlier run has put into a VLAN, and that no row names, leave it. Other
  /// devices, such as those of virtual machines, stay.
  void end_restart();
  /// Returns the state in the data plane of the row 'key' of VLAN_MEMBER_TABLE. O(log(members)).
  RowInPlane state_of(std::string_view key) const;
  /// Returns the number of rows in each state. O(members).
  PlaneCounts state_counts() const;
  /// Adds the order that takes a device out of its VLAN, when it loses the name 'port' of an untagged member.
  void add_orders_for_renamed(std::string_view port, IfIndex device, std::vector<Operation>& orders) const;

 private:
  using Place = std::pair<std::string, std::string>;  // VLAN, port.
  struct Member {
    bool tagged = false;
    std::string device;  // The port, or its 802.1Q device.
    bool asked = false;  // The data plane has confirmed the 802.1Q device since the start.
    Unreported unreported;
    bool applied = false;  // A row has been carried out.
    bool present = false;  // kVlanMember holds.
    std::string trouble;   // Why the device cannot be used, as text for operators.
  };
  Outcome set(std::string_view key, const Fields& fields);
  Outcome remove(std::string_view key);
  void provide_facts();
  const Member* find(std::string_view key) const;
  void note_place(const Place& place, Member& member);
  bool is_in_place(const Place& place, const Member& member) const;
  Member& claim(const Place& place, bool tagged, std::string device);
  void release(const Place& place);
  Outcome change_mode(const Place& place);
  std::string find_trouble(const Place& place, std::uint16_t number, const std::string& device) const;
  std::vector<Operation> orders_for(const Place& place, std::uint16_t number, const Member& member) const;
  std::vector<Operation> orders_to_leave(const Place& place, const Member& member) const;
  Outcome answered(const Place& place, IfIndex device, IfIndex bridge, const Status& status);
  const std::string* untagged_vlan(std::string_view port) const;
  bool is_left_in_bridge(const std::string& port) const;
  void free_port(const std::string& port);
  void follow_mtu(const Place& place, const Member& member);

  Programmer& programmer_;
  PortIds& ids_;
  Refusals<std::string> refusals_;
  std::map<Place, Member> members_;                           // Those that have a row, or whose Delete is under way.
  std::map<std::string, std::size_t, std::less<>> of_vlan_;   // The number of members of each VLAN that has one.
  std::map<std::string, std::size_t, std::less<>> of_port_;   // The number of VLANs of each port that is in one.
  std::map<std::string, std::string, std::less<>> untagged_;  // The VLAN of each port that is an untagged member.
  RetryTimer mtu_retries_;
  RetryTimer freed_;  // Ports that have to leave a bridge, and that no row names.
};

}  // namespace rondo::switch_agent
