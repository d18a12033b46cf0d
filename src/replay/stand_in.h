// StandIn: runs the recorded turns of a source that a replay does not have. Scheduler's thread.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "rondo/sched/source.h"

namespace rondo::replay {

/// A source of the recorded run that a replay does not have: a socket, a connection, a monitor.
class StandIn final : public Source {
 public:
  StandIn(std::string name, Priority priority, std::function<Turn()> turn) : Source(std::move(name), priority), turn_(std::move(turn)) {}
  Turn run(const Budget&) override { return turn_(); }

 private:
  std::function<Turn()> turn_;
};

}  // namespace rondo::replay
