#include "switch_agent/facts.h"

#include <string>

#include "switch_agent/schema.h"

namespace rondo::switch_agent {

Fact configured(std::string_view device) {
  const FactKind kind = is_vlan_name(device) ? kVlan : is_lag_name(device) ? kLag : kPort;
  return {kind, std::string{device}};
}

std::string with_port(std::string_view name, std::string_view port) { return std::string{name} + " " + std::string{port}; }

}  // namespace rondo::switch_agent
