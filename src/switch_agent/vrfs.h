// Vrfs: owns VRF_TABLE. A VRF is a device of the kernel with a routing table of its own: ports that are put into the device look up routes
// in that table only. This Orch creates the device, chooses the number of its table, and ends the lookup in it: a route of last resort
// refuses what no other route of the VRF matches, which would otherwise be looked up in the default VRF.
//
// The number is kept by the device itself: a restart takes it from there. A device that another program has made is used with its
// table, and stays when the row goes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/programmer.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/plane_state.h"
#include "switch_agent/port_ids.h"
#include "switch_agent/unreported.h"
#include "switch_agent/vrf_tables.h"

namespace rondo::switch_agent {

/// The routes of last resort of a table, one for each family, and the order that sets one.
std::vector<RouteDelete> last_resorts(std::uint32_t table);
RouteSet last_resort_set(const RouteDelete& route);

class Vrfs final : public Orch {
 public:
  /// 'main_table' is that of the default VRF.
  Vrfs(Runtime& runtime, Programmer& programmer, const PortIds& ids, VrfTables& tables, std::uint32_t main_table);

  /// Returns the state in the data plane of the row 'key' of VRF_TABLE. O(log(VRFs)).
  RowInPlane state_of(std::string_view key) const;
  /// Returns the number of rows in each state. O(VRFs).
  PlaneCounts state_counts() const;

 private:
  struct Vrf {
    bool asked = false;  // The data plane has confirmed the device since the start.
    Unreported unreported;
    bool ended = false;   // It has confirmed the routes of last resort.
    bool usable = false;  // kVrf holds.
    IfIndex device{};     // As it was when the VRF became usable.
    std::string trouble;  // Why the row is refused, as text for operators.
  };
  Outcome set(std::string_view key, const Fields& fields);
  Outcome remove(std::string_view key);
  void note_device(const std::string& name, Vrf& vrf);
  std::string find_trouble(const std::string& name) const;
  std::uint32_t free_table() const;
  void end_lookup(const std::string& name, const Ticket& ticket);
  Outcome refused(const std::string& name, const Status& status);
  Outcome finish(const std::string& name);
  bool is_up(std::string_view name) const;

  Programmer& programmer_;
  const PortIds& ids_;
  VrfTables& tables_;
  const std::uint32_t main_table_;
  std::map<std::string, Vrf, std::less<>> vrfs_;  // Those that have a row, or whose Delete is under way.
};

}  // namespace rondo::switch_agent
