// RecordedRestart: replaces what a program reads from the data plane by what a recorded run read: at its start, at the end of its restart,
// and in its audits. For replays (replay/replay.h). Scheduler's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/drift_kind.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/op.h"

namespace rondo {

class RecordedRestart {
 public:
  virtual ~RecordedRestart() = default;
  /// Number of objects of an earlier run.
  virtual std::uint64_t found() = 0;
  /// The next hops and groups among them.
  virtual std::vector<NexthopEntry> nexthops() = 0;
  /// The text that the recorded run noted under 'name' before its first turn; empty: none.
  virtual std::string note(std::string_view name) = 0;
  /// True if the check in the current turn found that all rows of the earlier run have arrived and are handled.
  virtual bool rows_are_handled() = 0;
  /// The orders of the current turn that delete unwanted objects.
  virtual std::vector<DeleteOrder> unwanted() = 0;
  /// Called at the recorded place of each repair, with the objects that differed from their orders.
  using OnDrift = std::function<void(DriftKind kind, const std::vector<DeleteOrder>& objects)>;
  virtual void on_drift(OnDrift handler) = 0;
};

}  // namespace rondo
