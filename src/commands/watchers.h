// Watchers: those who look on while rows change (rondo watch, rondo trace). Each has a bounded queue of events between the turns in which
// they happen and the turns of its own connection: one who reads slowly misses events and is told how many, and holds up nobody.
// Scheduler's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/admin/command.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/priority.h"
#include "rondo/sched/timer.h"

namespace rondo::commands {

class Watchers {
 public:
  /// The end of a look, whichever comes first.
  struct Until {
    std::uint64_t count = UINT64_MAX;  // Events told.
    Instant deadline = Instant::never();
  };

  Watchers(Runtime& runtime, Priority priority);
  ~Watchers();
  Watchers(const Watchers&) = delete;
  Watchers& operator=(const Watchers&) = delete;

  /// Answers with the changes of 'table' whose key matches 'pattern' (empty: all), as its consumer takes them.
  void watch(const std::string& table, const std::string& pattern, Until until, Reply reply);
  /// Answers with all that happens to one row.
  void trace(const std::string& table, const std::string& key, Until until, Reply reply);

  /// A change was accepted on its way into 'table'. One branch while nobody traces.
  void written(std::string_view table, const Change& change) {
    if (!traces_.empty()) tell_written(table, change);
  }
  bool traces() const noexcept { return !traces_.empty(); }
  std::size_t size() const noexcept { return all_.size(); }
  /// Events that readers missed because limits::kWatchEvents or kWatchBytes waited for them, since the start.
  std::uint64_t missed() const noexcept { return missed_; }

 private:
  class Watcher;
  class Watch;
  class Trace;
  void add(std::shared_ptr<Watcher> watcher, const std::string& table, RowTap::Listener listener);
  void tell_written(std::string_view table, const Change& change);
  /// Ends those whose time is over and forgets those whose readers are gone.
  void look();

  Runtime& runtime_;
  TimerSource timer_;  // Armed while somebody watches.
  std::vector<std::shared_ptr<Watcher>> all_;
  std::vector<std::weak_ptr<Trace>> traces_;
  std::uint64_t missed_ = 0;
};

}  // namespace rondo::commands
