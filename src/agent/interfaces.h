// Interfaces: owns INTF_TABLE. A row for a port makes it a router interface; a row for port and address gives it the address. Addresses come back by
// themselves after an administrative down (the kernel drops the IPv6 ones).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "agent/port_ids.h"
#include "agent/schema.h"
#include "rondo/dataplane/programmer.h"
#include "rondo/orch/orch.h"

namespace rondo::agent {

class Interfaces final : public Orch {
 public:
  Interfaces(Runtime& runtime, Programmer& programmer, const PortIds& ids);

 private:
  struct Interface {
    bool applied = false;         // The base row.
    std::set<Prefix> addresses;   // In the kernel, as far as we know.
  };
  Outcome set(std::string_view key, const Fields& fields);
  Outcome remove(std::string_view key);
  Outcome set_base(const std::string& port, const Fields& fields);
  Outcome set_address(const std::string& port, const Prefix& address);
  Outcome remove_base(const std::string& port);
  Outcome remove_address(const std::string& port, const Prefix& address);
  void restore(std::string_view port);
  bool addressed(std::string_view port_and_family) const;

  Programmer& programmer_;
  const PortIds& ids_;
  std::map<std::string, Interface, std::less<>> interfaces_;
};

/// The key of the fact kAddressed.
std::string addressed_key(std::string_view port, bool ipv6);

}  // namespace rondo::agent
