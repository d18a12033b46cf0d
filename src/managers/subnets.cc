#include "managers/subnets.h"

namespace rondo::managers {

std::string Subnets::port_of(const IpAddress& gateway) const {
  const std::pair<std::string, Prefix>* best = nullptr;
  for (const auto& entry : addresses_) {
    if (!entry.second.contains(gateway) || entry.second.address == gateway) continue;
    if (best == nullptr || entry.second.length > best->second.length) best = &entry;
  }
  return best == nullptr ? std::string{} : best->first;
}

void Subnets::forget(const IpAddress& gateway) {
  const auto found = gateways_.find(gateway);
  if (found != gateways_.end() && --found->second == 0) gateways_.erase(found);
}

std::vector<IpAddress> Subnets::gateways_in(const Prefix& address) const {
  std::vector<IpAddress> found;
  for (const auto& [gateway, routes] : gateways_) {
    if (address.contains(gateway)) found.push_back(gateway);
  }
  return found;
}

}  // namespace rondo::managers
