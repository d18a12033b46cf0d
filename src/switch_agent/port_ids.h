// PortIds: the kernel's numbers of ports by name, their MTU, and whether they are up. The ports Orch writes it from link events; Orchs
// that give orders to the data plane read it. A known name says nothing about the state of the port; the facts in facts.h do.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

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
  void set(std::string_view name, IfIndex id) {
    erase(name);
    by_name_.insert_or_assign(std::string{name}, id);
    names_.insert_or_assign(id, std::string{name});
  }
  /// In bytes; 0 if unknown.
  std::uint32_t mtu(std::string_view name) const {
    const auto it = mtus_.find(name);
    return it == mtus_.end() ? 0 : it->second;
  }
  void set_mtu(const std::string& name, std::uint32_t mtu) { mtus_.insert_or_assign(name, mtu); }
  void erase(std::string_view name) {
    if (const auto mtu = mtus_.find(name); mtu != mtus_.end()) mtus_.erase(mtu);
    const auto it = by_name_.find(name);
    if (it == by_name_.end()) return;
    const auto named = names_.find(it->second);
    if (named != names_.end() && named->second == name) names_.erase(named);
    by_name_.erase(it);
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
  std::map<std::string, IfIndex, std::less<>> by_name_;
  std::map<IfIndex, std::string> names_;
  std::map<std::string, std::uint32_t, std::less<>> mtus_;
  std::map<std::string, std::uint64_t, std::less<>> up_;
  std::uint64_t last_up_ = 0;
};

}  // namespace rondo::switch_agent
