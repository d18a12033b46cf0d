// LagMembers: owns LAG_MEMBER_TABLE. A member is a port in the bond of its LAG. A port is in one LAG; a port with a row of INTF_TABLE or in
// a VLAN is in none. Rows that ask for more wait. Of rows that wait for the same port, that of INTF_TABLE goes first, and then that of
// LAG_MEMBER_TABLE.
//
// A port has to be down to enter a bond, and the bond sets it up; the kernel sets it down when it leaves. This Orch gives both orders
// together with that for the administrative status that PORT_TABLE asks for. A port that is refused is not set down at each retry: its link
// would not stay up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/programmer.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/plane_state.h"
#include "switch_agent/mtu_rows.h"
#include "switch_agent/port_ids.h"
#include "switch_agent/refusals.h"
#include "switch_agent/retry_timer.h"
#include "switch_agent/schema.h"

namespace rondo::switch_agent {

class LagMembers final : public Orch {
 public:
  LagMembers(Runtime& runtime, Programmer& programmer, PortIds& ids, MtuRows& mtus);

  /// Called at the end of the restart: ports of PORT_TABLE that an earlier run has put into a LAG, and that no row names, leave it.
  void end_restart();
  /// Returns the state in the data plane of the row 'key' of LAG_MEMBER_TABLE. O(log(members)).
  RowInPlane state_of(std::string_view key) const;
  /// Returns the number of rows in each state. O(members).
  PlaneCounts state_counts() const;
  /// Adds the orders that take a device out of its LAG, when it loses the name 'port' of a member.
  void add_orders_for_renamed(std::string_view port, IfIndex device, std::vector<Operation>& orders) const;

 private:
  using Place = std::pair<std::string, std::string>;  // LAG, port.
  struct Devices {
    IfIndex port;
    IfIndex bond;
    friend bool operator==(const Devices&, const Devices&) = default;
  };
  struct Member {
    bool enabled = true;
    bool asked = false;    // The data plane may have the port in the bond.
    bool applied = false;  // A row has been carried out.
    Devices entered{};     // Which the data plane has confirmed, while it has not taken the port out again.
    Devices in_use{};      // The port was in use by another program.
    Devices mtu_refused{};
    std::uint32_t refused_mtu = 0;
  };
  Outcome set(std::string_view key, const Fields& fields);
  Outcome remove(std::string_view key);
  void provide_facts();
  std::vector<Fact> find_missing(const Place& place);
  /// 'waits': the row waits for the port alone.
  void note_next(const Place& place, bool waits);
  Member& claim(const Place& place, bool enabled);
  void release(const Place& place);
  Devices devices_of(const Place& place) const { return {ids_.find(place.second), ids_.find(place.first)}; }
  std::vector<Operation> orders_to_enter(const Place& place, const Member& member) const;
  bool is_mtu_refused(const Place& place, const Member& member) const;
  Outcome mtu_refused(const Place& place, const Member& member) const;
  Outcome refused(const Place& place, const Devices& devices, const Status& status);
  std::vector<Operation> orders_to_leave(const Place& place, const Member& member) const;
  Outcome disable(const Place& place, const Member& member);
  Outcome answered(const Place& place, const Devices& devices, const Status& status);
  const std::string* lag_of(std::string_view port) const;
  bool is_left_in_bond(const std::string& port) const;
  void free_port(const std::string& port);

  Programmer& programmer_;
  PortIds& ids_;
  MtuRows& mtus_;
  Refusals<std::string> refusals_;
  std::map<Place, Member> members_;                                 // Those that have a row, or whose Delete is under way.
  std::map<std::string, std::size_t, std::less<>> of_lag_;          // The number of members of each LAG that has one.
  std::map<std::string, std::string, std::less<>> lags_;            // The LAG of each port that is a member.
  std::map<std::string, std::set<std::string>, std::less<>> next_;  // By port, the LAGs whose rows wait for the port alone.
  std::set<std::string> left_;                                      // During the restart: ports that left a bond, and that no row names.
  bool restarted_ = false;
  RetryTimer freed_;  // Ports that have to leave a bond, and that no row names.
};

}  // namespace rondo::switch_agent
