// Every priority of the switch agent on one page. Higher first; the order is that of SONiC's orchagent (which never took effect there):
// what is urgent and cheap goes before what is much and can wait.
#pragma once

#include "rondo/sched/priority.h"

namespace rondo::switch_agent {

inline constexpr Priority kKernelEvents{55};  // Link events: milliseconds matter, a few microseconds each.
inline constexpr Priority kTimers{50};
inline constexpr Priority kAnswers{48};  // Answers of the data plane: they free what waits for them.
inline constexpr Priority kStores{46};   // Connections to stores elsewhere: they carry the ports' rows, too, and fetch only what is taken.
inline constexpr Priority kPorts{45};
inline constexpr Priority kInterfaces{35};
inline constexpr Priority kNeighbors{30};
inline constexpr Priority kNexthopGroups{20};
inline constexpr Priority kAdmin{10};  // The admin socket: above bulk, so that an operator is heard while a table loads.
inline constexpr Priority kAudit{6};   // Comparisons with the data plane, in slices.
inline constexpr Priority kRoutes{5};
inline constexpr Priority kBulkWrites{5};  // Feeding alternates with routes, so that neither builds up for long.

static_assert(kKernelEvents > kAnswers && kAnswers > kStores && kStores > kPorts && kPorts > kInterfaces && kInterfaces > kNeighbors &&
              kNeighbors > kNexthopGroups && kNexthopGroups > kRoutes);

}  // namespace rondo::switch_agent
