#include "managers/managers.h"

#include <utility>

#include "journal/recorder.h"
#include "managers/interface_manager.h"
#include "managers/lag_manager.h"
#include "managers/port_manager.h"
#include "managers/static_route_manager.h"
#include "managers/vlan_manager.h"
#include "managers/vrf_manager.h"

namespace rondo::managers {

std::vector<std::string> config_tables() {
  return {"PORT",           "PORTCHANNEL",           "PORTCHANNEL_MEMBER", "VLAN",        "VLAN_MEMBER", "VRF", "INTERFACE",
          "VLAN_INTERFACE", "PORTCHANNEL_INTERFACE", "LOOPBACK_INTERFACE", "STATIC_ROUTE"};
}

Result<std::unique_ptr<Managers>> Managers::open(Runtime& runtime, ManagersOptions options) {
  std::unique_ptr<Managers> managers{new Managers};
  if (JournalRecorder* const journal = JournalRecorder::of(runtime)) journal->note(kManagersNote, kManagersRecorded);
  auto rows = runtime.try_add<ManagedRows>(config_tables(), std::move(options));
  if (!rows) return failure(rows.error());
  managers->rows_ = *rows;
  if (auto ports = runtime.try_add<PortManager>(*managers->rows_); !ports) return failure(ports.error());
  if (auto lags = runtime.try_add<LagManager>(*managers->rows_); !lags) return failure(lags.error());
  if (auto vlans = runtime.try_add<VlanManager>(*managers->rows_); !vlans) return failure(vlans.error());
  if (auto vrfs = runtime.try_add<VrfManager>(*managers->rows_); !vrfs) return failure(vrfs.error());
  if (auto interfaces = runtime.try_add<InterfaceManager>(*managers->rows_, managers->subnets_); !interfaces) {
    return failure(interfaces.error());
  }
  if (auto routes = runtime.try_add<StaticRouteManager>(*managers->rows_, managers->subnets_); !routes) return failure(routes.error());
  return managers;
}

bool Managers::has_read_config() const noexcept { return rows_->has_read_config(); }
std::uint64_t Managers::repaired() const noexcept { return rows_->rows().repaired(); }
const std::string& Managers::last_repair() const noexcept { return rows_->rows().last_repair(); }

}  // namespace rondo::managers
