// Lags: owns LAG_TABLE. A LAG (port channel) is a bond of the kernel with the name of the LAG (docs/adr/0025-bonds-of-the-kernel.md): the
// ports of the LAG are in it (lag_members.h). This Orch creates the device and sets what its row asks for. All that follows from a port
// follows from a LAG, too: its carrier is that of the bond.
//
// A bond of the same mode that another program has made under the name is used, and stays when the row goes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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

class Lags final : public Orch {
 public:
  Lags(Runtime& runtime, Programmer& programmer, const PortIds& ids, MtuRows& mtus);

  /// Returns the state in the data plane of the row 'key' of LAG_TABLE. O(log(LAGs)).
  RowInPlane state_of(std::string_view key) const;
  /// Returns the number of rows in each state. O(LAGs).
  PlaneCounts state_counts() const;
  /// Adds how devices differ from what the rows of LAGs and of interfaces on them ask for. O(LAGs).
  void add_differences(std::vector<Drift>& found) const;
  /// Another program has changed what every bond of a LAG has: sets it again.
  void restore_settings(const std::string& name);
  /// 'handler' is called when an order of a row has set up a bond that was there before, and down.
  void on_set_up(std::function<void(const std::string& name)> handler) { on_set_up_ = std::move(handler); }

 private:
  struct Lag {
    bool asked = false;  // The data plane has confirmed the device since the start.
    Unreported unreported;
    bool applied = false;  // A row has been carried out.
    bool usable = false;   // kLag holds.
    IfIndex device{};      // As it was when the LAG became usable.
    bool wanted_up = true;
    std::uint16_t min_links = 0;
    BondMode mode = BondMode::None;
    std::string trouble;      // Why the row is refused, as text for operators.
    bool is_foreign = false;  // Because of a device of another program.
  };
  struct Asked {
    LagRow row;
    MtuRows::Mtu mtu_before;
    IfIndex device;
    bool is_set_up = false;  // The order sets up a bond that an earlier run left, and that is down.
  };
  Outcome set(std::string_view key, const Fields& fields);
  Outcome remove(std::string_view key);
  void note_device(const std::string& name, Lag& lag);
  std::string find_trouble(const std::string& name, const LagRow& row) const;
  Outcome replace(const std::string& name, Lag& lag);
  Outcome answered(const std::string& name, const Asked& asked, const Status& status);
  Outcome refused(const std::string& name, const Asked& asked, const Status& status);
  void use(const std::string& name, Lag& lag, IfIndex device);
  std::vector<Operation> orders_to_free(const std::string& name) const;
  void delete_device(const std::string& name, std::function<void(const Status&)> then);
  Outcome deleted(const std::string& name, const Status& status);
  std::string find_loss(const std::string& name, const Lag& lag) const;

  Programmer& programmer_;
  const PortIds& ids_;
  MtuRows& mtus_;
  std::function<void(const std::string& name)> on_set_up_;
  std::map<std::string, Lag, std::less<>> lags_;  // Those that have a row, or whose Delete is under way.
};

}  // namespace rondo::switch_agent
