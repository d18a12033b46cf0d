// MtuRows: the MTU that rows ask for, by port, and whether the kernel has it. Two rows may name the MTU of a port: the interface's row
// (INTF_TABLE) overrides the port's (PORT_TABLE, VLAN_TABLE or LAG_TABLE) while it has an mtu, whichever was written last. The ports Orch
// and the interfaces Orch write it and take from it the MTU that they order. Scheduler thread only. All functions: O(log(ports)).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "switch_agent/drift.h"

namespace rondo::switch_agent {

class MtuRows {
 public:
  using Mtu = std::optional<std::uint32_t>;  // In bytes; empty: the row has no mtu.

  /// Records what a row asks for, before the order is given.
  void set_port_row(std::string_view port, Mtu mtu) { set(port, &Rows::of_port, mtu); }
  void set_interface_row(std::string_view port, Mtu mtu) { set(port, &Rows::of_interface, mtu); }
  /// Records the MTU that the kernel reports.
  void reported(std::string_view port, std::uint32_t mtu) {
    Rows& rows = at(port);
    rows.actual = mtu;
    rows.was_as_wanted = rows.was_as_wanted || rows.wanted() == Mtu{mtu};
  }
  /// The port has no device any more.
  void device_gone(std::string_view port) {
    const auto it = rows_.find(port);
    if (it == rows_.end()) return;
    it->second.actual.reset();
    it->second.was_as_wanted = false;
    if (!it->second.of_port && !it->second.of_interface && !it->second.in_lag) rows_.erase(it);
  }

  /// A port in a LAG has the MTU of the LAG: its own rows have no effect.
  void set_in_lag(std::string_view port, bool is_in) {
    Rows& rows = at(port);
    rows.in_lag = is_in;
    rows.was_as_wanted = rows.actual && rows.actual == rows.wanted();
  }

  /// The MTU that the port should have; empty if no row names one.
  Mtu wanted(std::string_view port) const {
    const Rows* const rows = find(port);
    return rows == nullptr ? std::nullopt : rows->wanted();
  }
  Mtu port_row(std::string_view port) const {
    const Rows* const rows = find(port);
    return rows == nullptr ? std::nullopt : rows->of_port;
  }
  Mtu interface_row(std::string_view port) const {
    const Rows* const rows = find(port);
    return rows == nullptr ? std::nullopt : rows->of_interface;
  }
  /// True if the kernel has had the wanted MTU and has another one now: another program changed it. While the first order is under way it
  /// is false.
  bool is_changed(std::string_view port) const {
    const Rows* const rows = find(port);
    return rows != nullptr && rows->was_as_wanted && rows->wanted() && rows->actual && rows->actual != rows->wanted();
  }
  /// "mtu 9100" and "mtu 1400" if is_changed(), otherwise two empty texts.
  Setting setting(std::string_view port) const {
    if (!is_changed(port)) return {};
    return {"mtu " + std::to_string(*wanted(port)), "mtu " + std::to_string(*find(port)->actual)};
  }
  /// "the MTU of eth1 is 1400, and its row asks for 1500: ..."; empty unless is_changed(). For the row that names the MTU.
  std::string trouble(std::string_view port) const {
    if (!is_changed(port)) return {};
    const Rows& rows = *find(port);
    const std::string name{port};
    const std::string wanted = std::to_string(*rows.wanted());
    return "another program changed the MTU of " + name + " to " + std::to_string(*rows.actual) + ", and its row asks for " + wanted +
           "; 'rondo set " +
           (rows.of_interface                 ? "INTF_TABLE "
            : name.starts_with("Vlan")        ? "VLAN_TABLE "
            : name.starts_with("PortChannel") ? "LAG_TABLE "
                                              : "PORT_TABLE ") +
           name + " mtu=" + wanted + "' sets it again";
  }

 private:
  struct Rows {
    Mtu of_port;
    Mtu of_interface;
    Mtu actual;
    bool was_as_wanted = false;  // The kernel has reported the wanted MTU since a row asked for it.
    bool in_lag = false;
    Mtu wanted() const noexcept { return in_lag ? Mtu{} : of_interface ? of_interface : of_port; }
  };
  void set(std::string_view port, Mtu Rows::*row, Mtu mtu) {
    Rows& rows = at(port);
    rows.*row = mtu;
    rows.was_as_wanted = rows.actual && rows.actual == rows.wanted();
  }
  Rows& at(std::string_view port) {
    const auto it = rows_.find(port);
    return it != rows_.end() ? it->second : rows_[std::string{port}];
  }
  const Rows* find(std::string_view port) const {
    const auto it = rows_.find(port);
    return it == rows_.end() ? nullptr : &it->second;
  }

  std::map<std::string, Rows, std::less<>> rows_;
};

}  // namespace rondo::switch_agent
