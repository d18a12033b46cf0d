// Ports: owns PORT_TABLE and the kernel's link events. It sets what a row asks for (admin status, MTU) and announces the facts about
// devices: that they exist, are up, and have carrier. All Orchs below a port (addresses, neighbours, next hops) follow those facts; a link
// event causes no work per route.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/programmer.h"
#include "rondo/base/metrics.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/plane_state.h"
#include "switch_agent/drift.h"
#include "switch_agent/mtu_rows.h"
#include "switch_agent/port_ids.h"
#include "switch_agent/refusals.h"

namespace rondo::switch_agent {

class Ports final : public Orch {
 public:
  Ports(Runtime& runtime, Programmer& programmer, PortIds& ids, MtuRows& mtus);

  /// The agent follows the data plane's devices from now on.
  void begin() noexcept { has_begun_ = true; }
  /// Called by the data plane's monitor with the whole state of one device.
  void link_event(const LinkEvent& event);

  /// 'handler' is called in the turn of a link event, before any fact changes, when 'device' loses the name 'port' although it may still
  /// exist: it was renamed, or another device has the name.
  void on_name_left(std::function<void(const std::string& port, IfIndex device)> handler) { on_name_left_ = std::move(handler); }

  /// 'handler' is called when an order of a row has set up a port that was down.
  void on_set_up(std::function<void(const std::string& port)> handler) { on_set_up_ = std::move(handler); }

  /// One port, for reports to operators.
  struct Port {
    std::string name;
    IfIndex id;
    bool exists = false;
    bool has_row = false;     // It has a valid row in PORT_TABLE.
    bool configured = false;  // The device exists and is set as the row asks.
    bool admin_up = false;
    bool carrier = false;
    std::uint32_t mtu = 0;
    std::optional<bool> wanted_up{};  // From its row, if that was carried out.
    bool was_as_wanted = false;  // Since the row was carried out, the kernel has reported the administrative status that the row asks for.
    /// True if the administrative status differs from the row's because another program changed it.
    bool is_overridden() const noexcept { return exists && configured && wanted_up && *wanted_up != admin_up && was_as_wanted; }
    std::uint64_t carrier_changes = 0;
    Instant missing_since;  // Of a row without a device.
    WallTime exists_since;  // When each value last changed, or when the port was first seen.
    WallTime admin_since;
    WallTime carrier_since;
  };
  /// All ports that exist or have a row.
  std::vector<Port> ports() const;
  /// Null for a port that neither exists nor has a row.
  const Port* find(std::string_view name) const;
  /// Returns the state in the data plane of the row 'key' of PORT_TABLE. O(log(ports)).
  RowInPlane state_of(std::string_view key) const;
  /// Returns the number of rows in each state. O(ports).
  PlaneCounts state_counts() const;
  /// The ports that have a row and no device: it is gone, or it has not come since this instant. O(ports).
  std::vector<std::string> without_device(Instant since) const;
  /// Why next hops cannot use the port: "port Ethernet0 has no carrier since ..."; empty if they can.
  std::string trouble(std::string_view name) const;

  /// Returns how devices differ from what the rows of ports and interfaces ask for. A difference names the row that asks.
  std::vector<Drift> differences() const;

  /// A change of carrier and the time of its handling, for external measurements. The last limits::kCarrierChanges are kept.
  struct Handled {
    std::uint64_t sequence = 0;
    std::string port;
    bool carrier = false;
    Instant at;
  };
  std::vector<Handled> handled_since(std::uint64_t sequence) const;
  /// The time from reading the event from the kernel to its handling, in nanoseconds.
  const Histogram& event_wait_ns() const noexcept { return event_wait_ns_; }

 private:
  Outcome set(std::string_view key, const Fields& fields);
  Outcome set_answered(const std::string& name, const LinkSet& order, bool was_up, const Status& status);
  Outcome remove(std::string_view key);
  void forget_old_name(const LinkEvent& event);
  void state_master(const std::string& name, IfIndex before, IfIndex now);
  void state_ports_of(const std::string& holder, IfIndex device, bool begins);
  void state_facts(Port& port, bool was_admin_up, bool had_carrier);
  void device_gone(Port& port);
  void forget_if_dead(std::string_view name);
  void note_handled(const Port& port);
  bool is(std::string_view name, bool Port::*what) const;
  bool is_lost(const Port& port) const;
  bool has_ipv6_mtu(std::string_view name) const;

  Programmer& programmer_;
  PortIds& ids_;
  MtuRows& mtus_;
  Refusals<std::string> refusals_;
  bool has_begun_ = false;
  std::map<std::string, Port, std::less<>> ports_;
  std::map<IfIndex, std::string> names_;  // Of the devices that exist.
  std::function<void(const std::string& port, IfIndex device)> on_name_left_;
  std::function<void(const std::string& port)> on_set_up_;
  std::vector<Handled> handled_;
  std::uint64_t next_sequence_ = 1;
  Histogram event_wait_ns_;
};

}  // namespace rondo::switch_agent
