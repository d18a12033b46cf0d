// StaticRouteManager: makes rows of ROUTE_TABLE from STATIC_ROUTE, as SONiC's bgpcfgd and FRR's staticd do. Of the next hops, those of the
// smallest distance count. One without a port is on the port whose subnet contains it; without such a port the route waits.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "managers/config_rows.h"
#include "managers/manager.h"
#include "managers/subnets.h"

namespace rondo::managers {

class StaticRouteManager final : public Manager {
 public:
  /// 'subnets' must outlive the manager.
  StaticRouteManager(Runtime& runtime, ManagedRows& rows, Subnets& subnets);

 private:
  Outcome set(std::string_view key, const Fields& fields);
  Outcome remove(std::string_view key);
  void watch(const std::string& source, const StaticRouteRow& row);

  Subnets& subnets_;
  std::map<std::string, std::vector<Gateway>> gateways_;  // By source: those whose ports were looked for.
};

}  // namespace rondo::managers
