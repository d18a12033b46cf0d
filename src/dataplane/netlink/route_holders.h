// RouteHolders: finds which program has the route that blocks one of ours. The kernel refuses a creation with EEXIST and does not report
// the holder. It also has no query for one exact route, so this class reads the whole tables. It does so rarely: results are remembered
// for a while, and at most a tenth of the time is spent reading. One thread; blocks while the kernel answers. Costs nothing while no
// creation is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/netlink/decode.h"
#include "dataplane/netlink/dump.h"
#include "dataplane/netlink/encode.h"
#include "rondo/base/clock.h"
#include "rondo/dataplane/op.h"

namespace rondo::netlink {

class RouteHolders {
 public:
  /// 'dumps' must outlive it.
  RouteHolders(DumpChannel& dumps, ObjectMarks marks) : dumps_(dumps), marks_(marks) {}

  /// Handles those 'ops' that create routes and that the kernel refused because a route is present. Gives each a Status: AlreadyExists,
  /// with the holder, or Unavailable while the holder is not known. Returns the indexes in 'ops' of those whose holder is this program.
  std::vector<std::size_t> settle(std::span<Operation> ops);
  /// True if several routes of ours are in this place, so that all but one are strays: another program gave them our number.
  bool has_strays(const RouteSet& route) const;

 private:
  using Place = std::pair<Prefix, std::uint32_t>;  // Prefix, table.
  /// Reads the tables again, unless they were read recently.
  void look();

  DumpChannel& dumps_;
  const ObjectMarks marks_;
  const SystemClock clock_;
  struct Other {
    std::uint8_t protocol = 0;
    std::optional<IpAddress> gateway;
    bool is_before_ours = false;  // One of ours is in the same place, and the kernel prefers the other one.
  };
  void note(const RouteHolder& route);
  std::string words(const Other& other) const;

  std::map<Place, Other> others_;  // The routes with our metric that are not ours, unless one of ours is before them.
  std::vector<Place> ours_;        // Our routes when the tables were read, for a second after that. Sorted.
  Instant looked_;
  Instant believed_until_;
  Instant next_look_;
};

}  // namespace rondo::netlink
