// For the restart matrix: the expected content of the kernel for rows of which some may wait for missing rows. Pure; any thread.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "../agent_lines.h"
#include "restart_objects.h"
#include "rondo/dataplane/dataplane.h"

namespace rondo::restart {

class Expected {
 public:
  Expected(const Rows& rows, const std::vector<LinkEvent>& links) : rows_(rows) {
    for (const LinkEvent& link : links) links_[link.name] = link;
    for (const auto& [name, fields] : rows_) {
      if (name.first == "INTF_TABLE") add_address(name.second);
    }
    for (const auto& [name, fields] : rows_) {
      if (name.first == "NEIGH_TABLE") add_neighbor(name.second, fields);
    }
    for (const auto& [name, fields] : rows_) {
      if (name.first == "NEXTHOP_GROUP_TABLE") add_group(name.first + name.second, fields);
    }
    for (const auto& [name, fields] : rows_) {
      if (name.first == "ROUTE_TABLE") add_route(in_its_table(name.second), fields);
    }
    lines_ = state_.expected(links);
    for (const auto& [name, fields] : rows_) {
      if (name.first != "VRF_TABLE") continue;
      for (const char* const any : {"0.0.0.0/0", "::/0"})
        lines_.push_back("route " + std::string{any} + kVrfTable + " metric 4278198272 unreachable");
      const auto device = links_.find(name.second);  // The kernel chooses its MTU.
      lines_.push_back(link_line(made_link(name.second, device == links_.end() ? 0 : device->second.mtu)));
    }
    for (const LinkEvent& link : links) {
      if (link.name.starts_with("swp") && link.name.find('.') == std::string::npos) lines_.push_back(link_line(link));
    }
    for (const auto& [name, fields] : rows_) {
      if (name.first == "VLAN_TABLE") lines_.push_back(link_line(made_link(name.second, 1500)));
      if (name.first == "VLAN_MEMBER_TABLE") add_member(name.second);
      if (name.first == "LAG_TABLE") {
        const std::string least = text(fields, "min_links");
        lines_.push_back(link_line(made_link(name.second, 1500)) + (text(fields, "static") == "true" ? " static" : " lacp") +
                         " min_links " + (least.empty() ? "1" : least));
      }
      if (name.first == "LAG_MEMBER_TABLE" && !lag_of(port_of(name.second)).empty())
        lines_.push_back("port " + port_of(name.second) + " in " + lag_of(port_of(name.second)));
      if (name.first == "FDB_TABLE") add_entry(name.second, fields);
    }
    std::ranges::sort(lines_);
  }
  const switch_agent::Lines& lines() const noexcept { return lines_; }

 private:
  /// There is one VRF, and its table is the first one.
  static constexpr const char* kVrfTable = " table 1001";
  static std::string in_its_table(const std::string& key) {
    return key.starts_with("Vrf") ? key.substr(key.find(':') + 1) + kVrfTable : key;
  }
  using Hops = switch_agent::DesiredState::Hops;

  const RowFields* find(const std::string& table, const std::string& key) const {
    const auto row = rows_.find({table, key});
    return row == rows_.end() ? nullptr : &row->second;
  }
  static std::string text(const RowFields& fields, const std::string& name) {
    const auto field = fields.find(name);
    return field == fields.end() ? std::string{} : field->second;
  }
  static std::vector<std::string> list(const RowFields& fields, const std::string& name) {
    std::istringstream text_of(text(fields, name));
    std::vector<std::string> parts;
    for (std::string part; std::getline(text_of, part, ',');) parts.push_back(part);
    return parts;
  }
  static bool is_v6(const std::string& address) { return address.find(':') != std::string::npos; }

  bool has_interface(const std::string& port) const {
    const char* const table = port.starts_with("Vlan") ? "VLAN_TABLE" : port.starts_with("PortChannel") ? "LAG_TABLE" : "PORT_TABLE";
    return links_.contains(port) && find(table, port) != nullptr && find("INTF_TABLE", port) != nullptr;
  }
  void add_entry(const std::string& key, const RowFields& fields) {
    const std::string vlan = key.substr(0, key.find(':'));
    const std::string port = text(fields, "port");
    if (text(fields, "type") == "dynamic" || find("VLAN_MEMBER_TABLE", vlan + ":" + port) == nullptr) return;
    if (find("VLAN_TABLE", vlan) == nullptr || find("PORT_TABLE", port) == nullptr) return;
    lines_.push_back("entry " + vlan + " " + key.substr(key.find(':') + 1) + " " + device_in(vlan, port));
  }
  static std::string port_of(const std::string& member_key) { return member_key.substr(member_key.find(':') + 1); }
  /// Of a tagged member, the 802.1Q device.
  std::string device_in(const std::string& vlan, const std::string& port) const {
    const bool is_tagged = text(*find("VLAN_MEMBER_TABLE", vlan + ":" + port), "tagging_mode") == "tagged";
    return is_tagged ? port + "." + vlan.substr(std::string{"Vlan"}.size()) : port;
  }
  /// The LAG in whose bond the port is; empty: in none.
  std::string lag_of(const std::string& port) const {
    for (const auto& [name, fields] : rows_) {
      if (name.first != "LAG_MEMBER_TABLE" || port_of(name.second) != port || text(fields, "status") == "disabled") continue;
      const std::string lag = name.second.substr(0, name.second.find(':'));
      if (find("LAG_TABLE", lag) != nullptr && find("PORT_TABLE", port) != nullptr) return lag;
    }
    return {};
  }
  static LinkEvent made_link(const std::string& name, unsigned mtu) {
    LinkEvent link;
    link.name = name;
    link.admin_up = true;
    link.mtu = mtu;
    return link;
  }
  void add_member(const std::string& key) {
    const std::string vlan = key.substr(0, key.find(':'));
    const std::string port = port_of(key);
    if (find("VLAN_TABLE", vlan) == nullptr || find("PORT_TABLE", port) == nullptr) return;
    const std::string device = device_in(vlan, port);
    lines_.push_back("port " + device + " in " + vlan);
    if (device == port) return;
    const std::string mtu = text(*find("PORT_TABLE", port), "mtu");
    lines_.push_back(link_line(made_link(device, mtu.empty() ? 1500 : static_cast<unsigned>(std::stoul(mtu)))));
  }
  void add_address(const std::string& key) {
    const std::size_t colon = key.find(':');
    if (colon == std::string::npos || !has_interface(key.substr(0, colon))) return;
    const std::string port = key.substr(0, colon);
    const std::string address = key.substr(colon + 1);
    addressed_.insert({port, is_v6(address)});
    // See kernel_lines().
    if (!is_v6(address) || links_.at(port).admin_up) state_.addresses.insert({port, address});
  }
  void add_neighbor(const std::string& key, const RowFields& fields) {
    const std::size_t colon = key.find(':');
    const std::string port = key.substr(0, colon);
    const std::string address = key.substr(colon + 1);
    const bool has_subnet = address.starts_with("fe80:") ? has_interface(port) : addressed_.contains({port, is_v6(address)});
    if (!has_subnet || !links_.at(port).admin_up) return;
    neighbors_.insert({port, address});
    // A learned neighbour is the kernel's, and nothing is ordered.
    if (text(fields, "learned") != text(fields, "neigh")) state_.neighbors[{port, address}] = text(fields, "neigh");
  }
  /// Omits those without a neighbour.
  Hops hops_of(const RowFields& fields) const {
    const std::vector<std::string> gateways = list(fields, "nexthop");
    const std::vector<std::string> ports = list(fields, "ifname");
    const std::vector<std::string> weights = list(fields, "weight");
    Hops hops;
    for (std::size_t i = 0; i < gateways.size(); ++i) {
      if (!neighbors_.contains({ports.at(i), gateways[i]})) continue;
      hops.insert({ports[i], gateways[i], weights.empty() ? 1 : std::stoi(weights.at(i))});
    }
    return hops;
  }
  void add_group(const std::string& name, const RowFields& fields) {
    if (Hops hops = hops_of(fields); !hops.empty()) state_.groups[name] = std::move(hops);
  }
  void add_route(const std::string& prefix, const RowFields& fields) {
    if (text(fields, "blackhole") == "true") {
      state_.routes[prefix] = {};
    } else if (const std::string group = text(fields, "nexthop_group"); !group.empty()) {
      if (state_.groups.contains("NEXTHOP_GROUP_TABLE" + group)) state_.routes[prefix] = {"NEXTHOP_GROUP_TABLE" + group, {}};
    } else if (const Hops hops = hops_of(fields); !hops.empty()) {
      // Routes that name the same next hops share a group, whether or not all of them are there.
      const std::string set = "next hops " + text(fields, "nexthop") + " " + text(fields, "ifname") + " " + text(fields, "weight");
      state_.groups[set] = hops;
      state_.routes[prefix] = {set, {}};
    }
  }
  /// A device keeps settings that no row specifies.
  std::string link_line(const LinkEvent& link) const {
    std::string state = link.admin_up ? "up" : "down";
    std::string mtu = std::to_string(link.mtu);
    for (const char* const table : {"PORT_TABLE", "VLAN_TABLE", "LAG_TABLE", "INTF_TABLE"}) {
      const RowFields* const row = find(table, link.name);
      if (row == nullptr || (table == std::string{"INTF_TABLE"} && !has_interface(link.name))) continue;
      if (const std::string wanted = text(*row, "admin_status"); !wanted.empty()) state = wanted;
      if (const std::string wanted = text(*row, "mtu"); !wanted.empty()) mtu = wanted;
    }
    if (const std::string lag = lag_of(link.name); !lag.empty()) {
      const std::string of_lag = text(*find("LAG_TABLE", lag), "mtu");
      mtu = of_lag.empty() ? "1500" : of_lag;
    }
    return "link " + link.name + " " + state + " mtu " + mtu;
  }

  const Rows& rows_;
  std::map<std::string, LinkEvent> links_;
  std::set<std::pair<std::string, bool>> addressed_;
  std::set<std::pair<std::string, std::string>> neighbors_;  // Port, address; learned ones, too.
  switch_agent::DesiredState state_;
  switch_agent::Lines lines_;
};

}  // namespace rondo::restart
