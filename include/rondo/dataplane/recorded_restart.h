// RecordedRestart: in place of what a program reads from the data plane, what a recorded run read there: at its start, when it found that
// its restart was over, and what its audits had it repair. For replays (sim/replay.h). Scheduler's thread.
#pragma once

#include <cstdint>
#include <functional>
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
  /// Called for each repair of the recorded run, in its place: objects that differed from what was ordered.
  using OnDrift = std::function<void(DriftKind kind, const std::vector<DeleteOrder>& objects)>;
  virtual void on_drift(OnDrift handler) = 0;
};

}  // namespace rondo
