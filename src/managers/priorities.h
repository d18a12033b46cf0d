// The priorities of the managers, among those of switch_agent/priorities.h.
#pragma once

#include "rondo/sched/priority.h"

namespace rondo::managers {

inline constexpr Priority kManagers{40};          // Below ports: few rows, and each one makes others for the Orchs below.
inline constexpr Priority kStaticRoutes{15};      // Above routes, and below the admin socket's bulk.
inline constexpr Priority kLearnedNeighbors{32};  // Above the neighbours, whose rows it writes.
inline constexpr Priority kStateRows{25};         // Reports: after the neighbours, before groups and routes.

}  // namespace rondo::managers
