// PortIds: the kernel's numbers of ports by name, their MTU, whether they are up, and the VRF, bridge or bond that they are in. The ports
// Orch writes it from link events; Orchs that give orders to the data plane read it, and record the VRF or bridge into which the data plane
// has just put a port. A known name says nothing about the state of the port; the facts in facts.h do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "rondo/base/status.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/op.h"

namespace rondo::switch_agent {

class PortIds {
 public:
  /// Returns 0 if the kernel has no such device.
  IfIndex find(std::string_view name) const {
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? IfIndex{} : it->second;
  }
  /// Returns an empty name if the kernel has no device of this number.
  std::string_view name(IfIndex id) const {
    const auto it = names_.find(id);
    return it == names_.end() ? std::string_view{} : it->second;
  }
  /// The same text with names in place of the numbers of ports: "static entry 02:00:00:00:00:aa on swp1".
  std::string named(std::string words) const;
  /// What is known of an earlier device of this name is forgotten.
  void set(std::string_view name, IfIndex id) {
    if (find(name) == id) return;
    erase(name);
    by_name_.insert_or_assign(std::string{name}, id);
    names_.insert_or_assign(id, std::string{name});
  }
  /// In bytes; 0 if unknown.
  std::uint32_t mtu(std::string_view name) const {
    const auto it = mtus_.find(name);
    return it == mtus_.end() ? 0 : it->second;
  }
  void set_mtu(const std::string& name, std::uint32_t mtu) {
    if (std::exchange(mtus_[name], mtu) != mtu && on_mtu_) on_mtu_(name);
  }
  /// 'handler' is called after each change of an MTU.
  void on_mtu(std::function<void(const std::string& name)> handler) { on_mtu_ = std::move(handler); }
  /// What a device is besides a port.
  struct Device {
    IfIndex master;               // The device that it is in, such as a VRF, a bridge or a bond; 0: none.
    std::uint32_t vrf_table = 0;  // Its table, if it is a VRF.
    bool ours = false;            // Made by an order of this program, or of an earlier run.
    bool bridge = false;
    std::uint16_t vlan = 0;  // Of an 802.1Q device; 0 for others.
    IfIndex lower{};         // The port that an 802.1Q device is on.
    BondMode bond = BondMode::None;
    std::uint16_t min_links = 0;  // Of a bond.
    MacAddress mac;
    bool altered = false;  // See LinkEvent.
    bool is_bond() const noexcept { return bond != BondMode::None; }
    /// Other devices can be in it.
    bool is_holder() const noexcept { return vrf_table != 0 || bridge || is_bond(); }
  };
  Device device(std::string_view name) const {
    const auto it = devices_.find(name);
    return it == devices_.end() ? Device{} : it->second;
  }
  /// Does not change the master.
  void set_device(const std::string& name, const LinkEvent& event) {
    Device& device = devices_[name];
    forget_tagged(name, device);
    by_mac_.erase({device.mac, name});
    by_mac_.emplace(event.mac, name);
    if (event.vlan != 0) tagged_.insert_or_assign({event.lower, event.vlan}, name);
    device = {.master = device.master,
              .vrf_table = event.vrf_table,
              .ours = event.ours,
              .bridge = event.bridge,
              .vlan = event.vlan,
              .lower = event.lower,
              .bond = event.bond,
              .min_links = event.min_links,
              .mac = event.mac,
              .altered = event.altered};
  }
  /// The name of the 802.1Q device of this VLAN on the port; empty if there is none.
  std::string_view tagged(IfIndex port, std::uint16_t vlan) const {
    const auto it = tagged_.find({port, vlan});
    return it == tagged_.end() ? std::string_view{} : it->second;
  }
  void set_master(const std::string& name, IfIndex master) {
    const IfIndex before = std::exchange(devices_[name].master, master);
    if (before != master && on_master_) on_master_(name, before, master);
  }
  /// 'handler' is called after each change of a master.
  void on_master(std::function<void(const std::string& name, IfIndex before, IfIndex now)> handler) { on_master_ = std::move(handler); }
  /// O(devices).
  bool has_vrf_table(std::uint32_t table) const {
    return std::ranges::any_of(devices_, [table](const auto& entry) { return entry.second.vrf_table == table; });
  }
  /// True if the device is in the VRF, bridge or bond of this name.
  bool is_in(std::string_view name, std::string_view other) const {
    const IfIndex master = device(name).master;
    return master && master == find(other);
  }
  /// Calls 'visit' with the name of each device and what it is.
  template <class Visit>
  void for_each_device(Visit visit) const {
    for (const auto& [name, device] : devices_) visit(name, device);
  }
  /// Calls 'visit' with the name of each device that has this MAC address. O(log(devices) + those).
  template <class Visit>
  void for_each_device_at(const MacAddress& mac, Visit visit) const {
    for (auto it = by_mac_.lower_bound({mac, {}}); it != by_mac_.end() && it->first == mac; ++it) visit(it->second);
  }
  /// A restart begins. 'interfaces' are the ports that had an address, a neighbour or a next hop when the data plane was read.
  void begin_restart(std::set<IfIndex> interfaces) { interfaces_ = std::move(interfaces); }
  /// The rows of the earlier run have been handled.
  void rows_have_come() { interfaces_.reset(); }
  bool awaits_rows() const noexcept { return interfaces_.has_value(); }
  /// A row of this run has the port: what an earlier run left on it decides no more.
  void claimed(std::string_view port) {
    if (interfaces_) interfaces_->erase(find(port));
  }

  /// What a port is used for.
  struct Use {
    enum class Kind : std::uint8_t { None, Interface, Vlan, Lag };
    Kind kind = Kind::None;
    std::string_view device{};  // The VLAN of an untagged member, or the LAG.
  };
  /// True if the rows of the earlier run have yet to come, and the data plane shows the port in another use: a row that asks for that use
  /// has the port, whichever comes first. O(log(devices) + 802.1Q devices of the port).
  bool is_left_in_another_use(std::string_view port, const Use& wanted) const;
  /// True if the rows of the earlier run have yet to come, and the data plane shows the port in this use.
  bool is_left_in_use(std::string_view port, const Use& wanted) const;

  void erase(std::string_view name) {
    if (const auto device = devices_.find(name); device != devices_.end()) {
      forget_tagged(name, device->second);
      by_mac_.erase({device->second.mac, device->first});
      devices_.erase(device);
    }
    if (const auto mtu = mtus_.find(name); mtu != mtus_.end()) mtus_.erase(mtu);
    const auto it = by_name_.find(name);
    if (it == by_name_.end()) return;
    const auto named = names_.find(it->second);
    if (named != names_.end() && named->second == name) names_.erase(named);
    by_name_.erase(it);
  }

  /// The administrative status that the row of PORT_TABLE asks for; empty: none.
  std::optional<bool> wanted_up(std::string_view name) const {
    const auto it = wanted_up_.find(name);
    return it == wanted_up_.end() ? std::nullopt : std::optional{it->second};
  }
  void set_wanted_up(const std::string& name, std::optional<bool> up) {
    if (up) {
      wanted_up_.insert_or_assign(name, *up);
    } else {
      wanted_up_.erase(name);
    }
  }

  /// Returns a new number each time the port comes up; 0 while it is administratively down or absent. Objects that the kernel drops on an
  /// administrative down exist only if they were set under the current number.
  std::uint64_t up_number(std::string_view name) const {
    const auto it = up_.find(name);
    return it == up_.end() ? 0 : it->second;
  }
  void set_up(const std::string& name, bool up) {
    if (up) {
      up_.insert_or_assign(name, ++last_up_);
    } else {
      up_.erase(name);
    }
  }

 private:
  Use use_of(std::string_view port) const;
  void forget_tagged(std::string_view name, const Device& device) {
    const auto it = tagged_.find({device.lower, device.vlan});
    if (it != tagged_.end() && it->second == name) tagged_.erase(it);
  }

  std::map<std::string, IfIndex, std::less<>> by_name_;
  std::map<IfIndex, std::string> names_;
  std::map<std::string, std::uint32_t, std::less<>> mtus_;
  std::map<std::string, Device, std::less<>> devices_;
  std::set<std::pair<MacAddress, std::string>> by_mac_;              // The names of 'devices_' whose link events have come.
  std::map<std::pair<IfIndex, std::uint16_t>, std::string> tagged_;  // By port and VLAN.
  std::function<void(const std::string& name)> on_mtu_;
  std::function<void(const std::string& name, IfIndex before, IfIndex now)> on_master_;
  std::map<std::string, std::uint64_t, std::less<>> up_;
  std::map<std::string, bool, std::less<>> wanted_up_;  // By the names of rows.
  std::uint64_t last_up_ = 0;
  std::optional<std::set<IfIndex>> interfaces_;  // Empty after the restart.
};

}  // namespace rondo::switch_agent
