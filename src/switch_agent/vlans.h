// Vlans: owns VLAN_TABLE. A VLAN is a bridge of the kernel with the name of the VLAN (docs/adr/0024-one-bridge-per-vlan.md): the ports of
// the VLAN are in it (vlan_members.h), and it carries the addresses of the VLAN. This Orch creates the device and sets what its row asks
// for.
//
// A bridge that another program has made under the name is used, and stays when the row goes.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/programmer.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/plane_state.h"
#include "switch_agent/drift.h"
#include "switch_agent/mtu_rows.h"
#include "switch_agent/port_ids.h"
#include "switch_agent/schema.h"
#include "switch_agent/unreported.h"

namespace rondo::switch_agent {

class Vlans final : public Orch {
 public:
  Vlans(Runtime& runtime, Programmer& programmer, const PortIds& ids, MtuRows& mtus);

  /// Returns the state in the data plane of the row 'key' of VLAN_TABLE. O(log(VLANs)).
  RowInPlane state_of(std::string_view key) const;
  /// Returns the number of rows in each state. O(VLANs).
  PlaneCounts state_counts() const;
  /// Adds how devices differ from what the rows of VLANs and of interfaces on them ask for. O(VLANs).
  void add_differences(std::vector<Drift>& found) const;
  /// Another program has changed what every bridge of a VLAN has: sets it again.
  void restore_settings(const std::string& name);
  /// 'handler' is called when an order of a row has set up a bridge that was there before, and down.
  void on_set_up(std::function<void(const std::string& name)> handler) { on_set_up_ = std::move(handler); }

 private:
  struct Vlan {
    bool asked = false;  // The data plane has confirmed the device since the start.
    Unreported unreported;
    bool applied = false;  // A row has been carried out.
    bool usable = false;   // kVlan holds.
    IfIndex device{};      // As it was when the VLAN became usable.
    bool wanted_up = true;
    std::optional<MacAddress> wanted_mac{};
    std::string trouble;  // Why the row is refused, as text for operators.
  };
  Outcome set(std::string_view key, const Fields& fields);
  Outcome remove(std::string_view key);
  void note_device(const std::string& name, Vlan& vlan);
  Outcome answered(const std::string& name, IfIndex device, bool is_set_up, const Status& status);
  Outcome deleted(const std::string& name, const Status& status);
  std::string find_loss(const std::string& name, const Vlan& vlan) const;

  Programmer& programmer_;
  const PortIds& ids_;
  MtuRows& mtus_;
  std::function<void(const std::string& name)> on_set_up_;
  std::map<std::string, Vlan, std::less<>> vlans_;  // Those that have a row, or whose Delete is under way.
};

}  // namespace rondo::switch_agent
