// PortManager: makes rows of PORT_TABLE from PORT, as SONiC's portmgrd does: all fields, and admin_status=down and mtu=9100 where they are
// missing.
#pragma once

#include <set>
#include <string>

#include "managers/manager.h"

namespace rondo::managers {

class PortManager final : public Manager {
 public:
  PortManager(Runtime& runtime, ManagedRows& rows);

 private:
  Outcome set(std::string_view key, const Fields& fields);
  Outcome remove(std::string_view key);

  std::set<std::string, std::less<>> written_;
};

}  // namespace rondo::managers
