// StandingRows: begins the consumers whose ConsumeOptions::needs are met. A source of its own, because a consumer that waits is in no turn
// and has not asked its table for changes: a replay, which has a stand-in for this source, then needs to know nothing of the wait.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "rondo/sched/scheduler.h"
#include "rondo/sched/source.h"

namespace rondo {

class Consumer;

class StandingRows final : public Source {
 public:
  using Consumers = std::map<std::string, Consumer*, std::less<>>;
  StandingRows(Scheduler& scheduler, const Consumers& consumers);

  Turn run(const Budget& budget) override;
  /// Also for a store that does not report the end of its standing rows: the sweep wakes this source.
  bool has_backlog() const override;

 private:
  const Consumers& consumers_;  // All consumers of the runtime, by table.
};

}  // namespace rondo
