#include "orch/standing_rows.h"

#include <algorithm>

#include "orch/consumer.h"

namespace rondo {

StandingRows::StandingRows(Scheduler& scheduler, const Consumers& consumers)
    : Source("standing rows", Priority{limits::kPriorities - 1}), consumers_(consumers) {
  scheduler.add(*this);
}

bool StandingRows::has_backlog() const {
  return std::ranges::any_of(consumers_, [](const auto& entry) { return entry.second->may_begin(); });
}

Turn StandingRows::run(const Budget&) {
  Turn turn;
  for (const auto& [table, consumer] : consumers_) {
    if (!consumer->may_begin()) continue;
    consumer->begin();
    ++turn.items;
  }
  return turn;
}

}  // namespace rondo
