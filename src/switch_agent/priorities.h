// All priorities of the switch agent; a higher number runs first. The order is that of SONiC's orchagent (where it never took effect):
// urgent and cheap work goes before bulk work that can wait.
#pragma once

#include "rondo/sched/priority.h"

namespace rondo::switch_agent {

inline constexpr Priority kKernelEvents{55};  // Link events: milliseconds matter, a few microseconds each.
inline constexpr Priority kTimers{50};
inline constexpr Priority kAnswers{48};  // Answers of the data plane: they release the rows that wait for them.
// Connections to remote stores: they also carry the ports' rows, and fetch only what consumers take.
inline constexpr Priority kStores{46};
inline constexpr Priority kPorts{45};
inline constexpr Priority kLags{44};
inline constexpr Priority kVlans{42};
inline constexpr Priority kLagMembers{40};
inline constexpr Priority kVlanMembers{40};
inline constexpr Priority kVrfs{40};
inline constexpr Priority kInterfaces{35};
inline constexpr Priority kNeighbors{30};
inline constexpr Priority kFdb{25};
inline constexpr Priority kNexthopGroups{20};
inline constexpr Priority kAdmin{10};  // The admin socket: above bulk, so that commands are answered while a table loads.
inline constexpr Priority kAudit{6};   // Comparisons with the data plane, in slices.
inline constexpr Priority kRoutes{5};
inline constexpr Priority kBulkWrites{5};  // Writers alternate with routes, so that neither queue grows for long.

static_assert(kKernelEvents > kAnswers && kAnswers > kStores && kStores > kPorts && kPorts > kLags && kLags > kVlans &&
              kVlans > kVlanMembers && kVlans > kLagMembers && kLagMembers > kInterfaces && kVlans > kVrfs && kVlanMembers > kInterfaces &&
              kVrfs > kInterfaces && kInterfaces > kNeighbors && kNeighbors > kNexthopGroups && kNexthopGroups > kRoutes);

}  // namespace rondo::switch_agent
