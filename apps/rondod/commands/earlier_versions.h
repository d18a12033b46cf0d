// EarlierVersions: counts the rows that wait or were rejected while an earlier version of them is in the data plane. A restart knows only
// the newest version of a row, so it removes the earlier one: the routes of a group that was deleted while they use it, or a route with a
// new next hop that is not resolved. Many rows may wait, so a count takes several turns. Scheduler's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orch/parked.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/source.h"
#include "rondo/sched/timer.h"
#include "switch_agent/agent.h"

namespace rondo::daemon {

class EarlierVersions final : public Source {
 public:
  struct Count {
    std::string table;
    std::uint64_t waiting = 0;
    std::uint64_t rejected = 0;
    std::uint64_t outdated = 0;  // The part of 'waiting' that is Outdated.
    std::string first_outdated = {};
  };
  /// The counts of the tables that have such rows.
  using Done = std::function<void(const std::vector<Count>& counts)>;

  /// Adds itself to the scheduler of 'runtime'. 'agent' is null without a data plane; then there are none. Both must outlive it.
  EarlierVersions(Runtime& runtime, const switch_agent::SwitchAgent* agent);
  /// Rows whose Set has waited for facts for longer than a moment meanwhile, as the last look found them, by table. A look follows a few
  /// seconds after another.
  struct Outdated {
    std::string table;
    std::uint64_t rows = 0;
    std::string first;
  };
  const std::vector<Outdated>& outdated() const noexcept { return outdated_; }
  /// Calls 'done' in a later turn, with counts of rows that were read after this call. Not called after the end of this object.
  void count(Done done);

  Turn run(const Budget& budget) override;
  bool has_backlog() const override { return !asked_.empty() || !answering_.empty(); }

 private:
  void begin();
  bool step();
  void end();
  void look();
  bool is_earlier(const std::string& table, const std::string& key) const;

  Runtime& runtime_;
  const switch_agent::SwitchAgent* const agent_;
  std::vector<Done> asked_;      // They get the next count.
  std::vector<Done> answering_;  // They get the count that is under way.
  std::vector<Count> counts_;    // One for each table with rows that wait or were rejected.
  std::size_t table_ = 0;
  std::uint32_t place_ = 0;           // Place in the waiting rows of the table; kNoPlace: all have been read.
  std::optional<std::string> after_;  // The last rejected row that was read.
  std::vector<Outdated> outdated_;
  Instant began_;
  TimerSource look_timer_;
};

}  // namespace rondo::daemon
