// PortIds: the kernel's numbers of ports, by name. Written by the ports Orch from link events, read by those who give orders to the data
// plane. That a name is known says nothing about its state; the facts in facts.h do.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "rondo/dataplane/op.h"

namespace rondo::agent {

class PortIds {
 public:
  /// 0 when the kernel has no such device.
  IfIndex find(std::string_view name) const {
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? IfIndex{} : it->second;
  }
  void set(std::string_view name, IfIndex id) { by_name_.insert_or_assign(std::string{name}, id); }
  void erase(std::string_view name) {
    const auto it = by_name_.find(name);
    if (it != by_name_.end()) by_name_.erase(it);
  }

 private:
  std::map<std::string, IfIndex, std::less<>> by_name_;
};

}  // namespace rondo::agent
