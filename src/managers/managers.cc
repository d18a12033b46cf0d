#include "managers/managers.h"

#include <array>
#include <utility>

#include "journal/recorder.h"
#include "managers/copy_manager.h"
#include "managers/interface_manager.h"
#include "managers/static_route_manager.h"

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
  std::array copies{port_copies(), lag_copies(), vlan_copies(), vrf_copies()};
  for (CopiedTables& one : copies) {
    if (auto added = runtime.try_add<CopyManager>(*managers->rows_, std::move(one)); !added) return failure(added.error());
  }
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
