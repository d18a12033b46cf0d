// RouteHolders: which program's route is where one of ours could not be created. The kernel refuses a creation with EEXIST and does not say
// whose route is there; it has no question for one exact route either, so the tables are read, seldom: what was found is remembered for a
// while, and a tenth of the time at most goes into reading. One thread; blocks while the kernel answers. No cost while nothing is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/netlink/dump.h"
#include "dataplane/netlink/encode.h"
#include "rondo/base/clock.h"
#include "rondo/dataplane/op.h"

namespace rondo::netlink {

class RouteHolders {
 public:
  /// 'dumps' must outlive it.
  RouteHolders(DumpChannel& dumps, ObjectMarks marks) : dumps_(dumps), marks_(marks) {}

  /// Of 'ops' those creations of routes that the kernel refused because a route is there: gives each a Status that names its holder, and
  /// returns the places in 'ops' of those that we hold ourselves.
  std::vector<std::size_t> settle(std::span<Operation> ops);

 private:
  using Place = std::pair<Prefix, std::uint32_t>;  // Prefix, table.
  /// Reads the tables anew, unless that was done a moment ago. Returns whether it did.
  bool look(const std::vector<Place>& asked);

  DumpChannel& dumps_;
  const ObjectMarks marks_;
  const SystemClock clock_;
  std::map<Place, std::uint8_t> others_;  // The protocols of routes of our metric that are not ours.
  std::vector<Place> ours_;               // Of those asked about when the tables were read. Sorted.
  Instant looked_;
  Instant next_look_;
};

}  // namespace rondo::netlink
