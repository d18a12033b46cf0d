#include "managers/subnets.h"

namespace rondo::managers {

Gateway Gateway::of(std::string_view name) {
  const std::size_t bar = name.find('|');
  const std::string_view address = bar == std::string_view::npos ? name : name.substr(bar + 1);
  return {std::string{bar == std::string_view::npos ? std::string_view{} : name.substr(0, bar)},
          IpAddress::parse(address).value_or(IpAddress{})};
}

std::vector<Prefix> Subnets::addresses_of(const std::string& port) const {
  std::vector<Prefix> found;
  for (const auto& [of, address] : addresses_) {
    if (of == port) found.push_back(address);
  }
  return found;
}

void Subnets::set_vrf(const std::string& port, const std::string& vrf) {
  if (vrf.empty()) {
    vrfs_.erase(port);
  } else {
    vrfs_[port] = vrf;
  }
}

std::string Subnets::vrf_of(const std::string& port) const {
  const auto found = vrfs_.find(port);
  return found == vrfs_.end() ? std::string{} : found->second;
}

std::string Subnets::port_of(const Gateway& gateway) const {
  const std::pair<std::string, Prefix>* best = nullptr;
  for (const auto& entry : addresses_) {
    if (!entry.second.contains(gateway.address) || entry.second.address == gateway.address) continue;
    if (best != nullptr && entry.second.length <= best->second.length) continue;
    if (vrf_of(entry.first) == gateway.vrf) best = &entry;
  }
  return best == nullptr ? std::string{} : best->first;
}

void Subnets::forget(const Gateway& gateway) {
  const auto found = gateways_.find(gateway);
  if (found != gateways_.end() && --found->second == 0) gateways_.erase(found);
}

std::vector<Gateway> Subnets::gateways_in(const std::string& vrf, const Prefix& address) const {
  std::vector<Gateway> found;
  for (const auto& [gateway, routes] : gateways_) {
    if (gateway.vrf == vrf && address.contains(gateway.address)) found.push_back(gateway);
  }
  return found;
}

}  // namespace rondo::managers
