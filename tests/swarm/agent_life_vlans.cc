// VLANs, their members and stations in a random life of the switch agent.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "agent_life.h"

namespace rondo::swarm {

void AgentLife::begin_vlans() {
  for (const char* const port : kVlanPortNames) {
    plane().add_port(port);
    world_->set("PORT_TABLE", port, {{"admin_status", "up"}});
  }
  for (const char* const vlan : kVlanNames) set_vlan(vlan);
  set_vlan_interface();
}

void AgentLife::set_vlan(const std::string& vlan) {
  if (!may_set("VLAN_TABLE", vlan)) return;
  world_->set("VLAN_TABLE", vlan, {{"mtu", random_.chance(0.5) ? "1500" : "9000"}});
  desired_.vlans.insert(vlan);
}

void AgentLife::set_vlan_interface() {
  const std::string vlan = kVlanNames[0];
  if (!may_set("INTF_TABLE", vlan) || !may_set("INTF_TABLE", vlan + ":" + kVlanAddress)) return;
  world_->set("INTF_TABLE", vlan, {{"NULL", "NULL"}});
  world_->set("INTF_TABLE", vlan + ":" + kVlanAddress, {{"NULL", "NULL"}});
  desired_.addresses.insert({vlan, kVlanAddress});
  has_vlan_interface_ = true;
}

void AgentLife::erase_vlan_interface() {
  const std::string vlan = kVlanNames[0];
  if (desired_.addresses.contains({vlan, kVlanAddress})) erase_address({vlan, kVlanAddress});
  if (std::exchange(has_vlan_interface_, false)) erase("INTF_TABLE", vlan);
}

void AgentLife::set_member(const std::string& vlan, const std::string& port, bool tagged) {
  const bool is_taken = std::ranges::any_of(desired_.vlan_members, [&](const auto& member) {
    return member.first.first != vlan && member.first.second == port && member.second == port;
  });
  if ((!tagged && is_taken) || !may_set("VLAN_MEMBER_TABLE", vlan + ":" + port)) return;
  world_->set("VLAN_MEMBER_TABLE", vlan + ":" + port, {{"tagging_mode", tagged ? "tagged" : "untagged"}});
  desired_.vlan_members[{vlan, port}] = tagged ? port + "." + vlan.substr(4) : port;
}

void AgentLife::erase_member(const std::pair<std::string, std::string>& place) {
  erase("VLAN_MEMBER_TABLE", place.first + ":" + place.second);
  desired_.vlan_members.erase(place);
}

void AgentLife::erase_entry(const std::pair<std::string, std::string>& place) {
  erase("FDB_TABLE", place.first + ":" + place.second);
  desired_.vlan_entries.erase(place);
}

void AgentLife::operate_vlans() {
  const std::string vlan = kVlanNames[random_.below(2)];
  const std::string port = kVlanPortNames[random_.below(2)];
  const std::string mac = station(random_.below(kStations));
  switch (random_.below(10)) {
    case 0: set_vlan(vlan); break;
    case 1:
      if (!desired_.vlans.contains(vlan) || random_.chance(0.7)) break;
      erase("VLAN_TABLE", vlan);
      desired_.vlans.erase(vlan);
      break;
    case 2:
    case 3: set_member(vlan, port, random_.chance(0.5)); break;
    case 4:
      if (desired_.vlan_members.contains({vlan, port})) erase_member({vlan, port});
      break;
    case 5:
    case 6:
      if (!may_set("FDB_TABLE", vlan + ":" + mac)) break;
      world_->set("FDB_TABLE", vlan + ":" + mac, {{"port", port}, {"type", "static"}});
      desired_.vlan_entries[{vlan, mac}] = port;
      break;
    case 7:
      if (desired_.vlan_entries.contains({vlan, mac})) erase_entry({vlan, mac});
      break;
    case 8: random_.chance(0.5) ? set_vlan_interface() : erase_vlan_interface(); break;
    default: meddle_with_vlans(vlan, port, mac);
  }
}

void AgentLife::meddle_with_vlans(const std::string& vlan, const std::string& port, const std::string& mac) {
  const std::vector<LinkEvent> links = plane().links().value();
  const auto device = [&links](const std::string& name) {
    const auto found = std::ranges::find(links, name, &LinkEvent::name);
    return found == links.end() ? IfIndex{4000} : found->port;
  };
  const IfIndex tagged = device(port + "." + vlan.substr(4));
  const MacAddress of = MacAddress::parse(mac).value();
  switch (random_.below(10)) {
    case 0: meddle(DeviceDelete{device(vlan)}); break;
    case 1: meddle(DeviceDelete{tagged}); break;
    case 2: meddle(LinkSet{device(port), {}, {}, IfIndex{}}); break;
    case 3: meddle(LinkSet{tagged, {}, {}, IfIndex{}}); break;
    case 4: meddle(FdbDelete{random_.chance(0.5) ? device(port) : tagged, of}); break;
    case 5: meddle(FdbSet{random_.chance(0.5) ? device(port) : tagged, of}); break;
    case 6:
      later([this, port, of] {
        if (has_device(port)) plane().hear(port, of);
      });
      break;
    case 7:
      later([this, vlan, port, of, is_external = random_.chance(0.7)] {
        if (!is_in(port, vlan)) return;
        is_external ? plane().add_external_entry(port, of) : plane().add_movable_entry(port, of);
      });
      break;
    case 8:
      later([this, vlan, of] {
        if (has_device(vlan)) plane().remove_external_entry(vlan, of);
      });
      break;
    default:
      later([this, port] {
        if (has_device(port)) plane().remove_port(port);
      });
      later([this, port] {
        if (!has_device(port)) plane().add_port(port);
      });
  }
}

bool AgentLife::has_device(const std::string& name) {
  const std::vector<LinkEvent> links = plane().links().value();
  return std::ranges::find(links, name, &LinkEvent::name) != links.end();
}

bool AgentLife::is_in(const std::string& port, const std::string& vlan) {
  const std::vector<LinkEvent> links = plane().links().value();
  const auto found = std::ranges::find(links, port, &LinkEvent::name);
  const auto bridge = std::ranges::find(links, vlan, &LinkEvent::name);
  return found != links.end() && bridge != links.end() && found->master == bridge->port;
}

void AgentLife::close_vlans() {
  if (others_ != Others::MeddleWithVlans) return;
  for (const char* const vlan : kVlanNames) {
    for (std::uint64_t number = 0; number < kStations && has_device(vlan); ++number) {
      plane().remove_external_entry(vlan, MacAddress::parse(station(number)).value());
    }
  }
  for (const char* const port : kVlanPortNames) {
    if (!has_device(port)) plane().add_port(port);
  }
  for (const auto& [place, device] : std::map{desired_.vlan_members}) {
    if (!desired_.vlans.contains(place.first)) erase_member(place);
  }
  for (const auto& [place, port] : std::map{desired_.vlan_entries}) {
    if (!desired_.vlan_members.contains({place.first, port})) erase_entry(place);
  }
  if (!desired_.vlans.contains(kVlanNames[0])) erase_vlan_interface();
}

}  // namespace rondo::swarm
