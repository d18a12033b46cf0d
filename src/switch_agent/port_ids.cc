#include "switch_agent/port_ids.h"

#include <charconv>

#include "switch_agent/schema.h"

namespace rondo::switch_agent {

std::string PortIds::named(std::string words) const {
  constexpr std::string_view kPort = "port ";
  for (std::size_t at = words.find(kPort); at != std::string::npos; at = words.find(kPort, at + 1)) {
    const char* const digits = words.data() + at + kPort.size();
    std::uint32_t number = 0;
    const char* const end = std::from_chars(digits, words.data() + words.size(), number).ptr;
    const std::string_view known = name(IfIndex{number});
    if (!known.empty()) words.replace(at, static_cast<std::size_t>(end - words.data()) - at, known);
  }
  return words;
}

PortIds::Use PortIds::use_of(std::string_view port) const {
  const std::string_view holder = name(device(port).master);
  const Device master = device(holder);
  if (master.bridge && is_vlan_name(holder)) return {Use::Kind::Vlan, holder};
  if (master.is_bond() && is_lag_name(holder)) return {Use::Kind::Lag, holder};
  const IfIndex id = find(port);
  for (auto it = tagged_.lower_bound({id, std::uint16_t{0}}); it != tagged_.end() && it->first.first == id; ++it) {
    const Device tagged = device(it->second);
    if (tagged.ours && is_vlan_name(name(tagged.master))) return {Use::Kind::Vlan};
  }
  return {master.vrf_table != 0 || interfaces_->contains(id) ? Use::Kind::Interface : Use::Kind::None};
}

bool PortIds::is_left_in_use(std::string_view port, const Use& wanted) const {
  return interfaces_ && find(port) && use_of(port).kind == wanted.kind && !is_left_in_another_use(port, wanted);
}

bool PortIds::is_left_in_another_use(std::string_view port, const Use& wanted) const {
  if (!interfaces_ || !find(port)) return false;
  const Use use = use_of(port);
  if (use.kind == Use::Kind::None) return false;
  return use.kind != wanted.kind || (!use.device.empty() && !wanted.device.empty() && use.device != wanted.device);
}

}  // namespace rondo::switch_agent
