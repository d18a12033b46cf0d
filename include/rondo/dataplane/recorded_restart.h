// RecordedRestart: in place of what a restarted program reads from the data plane, what a recorded run read there, and when it found that
// its restart was over. For replays (sim/replay.h). Scheduler's thread.
#pragma once

#include <cstdint>
#include <vector>

#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/op.h"

namespace rondo {

class RecordedRestart {
 public:
  virtual ~RecordedRestart() = default;
  /// How many objects of an earlier run there were,
  virtual std::uint64_t found() = 0;
  /// and of these the next hops and groups.
  virtual std::vector<NexthopEntry> nexthops() = 0;
  /// What the look of the turn under way found: the rows of before have come.
  virtual bool rows_have_come() = 0;
  /// The orders of the turn under way that delete what nobody asked for.
  virtual std::vector<DeleteOrder> unwanted() = 0;
};

}  // namespace rondo
