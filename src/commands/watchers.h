// Watchers: the readers that observe changes of rows (rondo watch, rondo trace). Each has a bounded queue between the turns in which
// events happen and the turns of its own connection. A slow reader misses events, receives their number, and delays no other. Scheduler's
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "orch/row_tap.h"
#include "rondo/admin/command.h"
#include "rondo/base/clock.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/priority.h"
#include "rondo/sched/timer.h"
#include "rondo/store/record.h"

namespace rondo::commands {

/// The end of an answer, whichever comes first.
struct Until {
  std::uint64_t count = UINT64_MAX;  // Events or rows sent.
  Instant deadline = Instant::never();
};

/// The arguments 'count' and 'milliseconds' of a call; InvalidArgument for numbers that they cannot have.
Result<Until> until_of(const Clock& clock, const Arguments& arguments);

class Watchers {
 public:
  Watchers(Runtime& runtime, Priority priority);
  ~Watchers();
  Watchers(const Watchers&) = delete;
  Watchers& operator=(const Watchers&) = delete;

  /// Answers with the changes of 'table' whose key matches 'pattern' (empty: all), as its consumer takes them.
  void watch(const std::string& table, const std::string& pattern, Until until, Reply reply);
  /// Answers with all that happens to one row.
  void trace(const std::string& table, const std::string& key, Until until, Reply reply);

  /// A change for 'table' was accepted. Returns its number, which the traces of its row report with each step, and which no other change
  /// has before the next start; 0 if the store is elsewhere: then nothing says which change of its row has this one.
  std::uint64_t written(std::string_view table, const Change& change) {
    const std::uint64_t id = runtime_.store().write_answer(table) == WriteAnswer::Confirmed ? 0 : ++changes_;
    if (is_traced(change.key())) report_written(table, change, id);
    return id;
  }
  /// A trace follows the row of 'key' in some table. One branch while there is no trace, otherwise one lookup.
  bool is_traced(std::string_view key) const noexcept { return !traces_.empty() && traces_.contains(key); }
  std::size_t size() const noexcept { return all_.size(); }
  /// Events that readers missed since the start, because limits::kWatchEvents or kWatchBytes were waiting for them.
  std::uint64_t missed() const noexcept { return missed_; }

 private:
  class Watcher;
  class Watch;
  class Trace;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const noexcept { return hash_key(key); }
  };
  void add(std::shared_ptr<Watcher> watcher, Result<std::unique_ptr<RowTap>> tap);
  template <class Use>
  void use_traces(std::string_view table, std::string_view key, const Use& use) const;
  void report_written(std::string_view table, const Change& change, std::uint64_t id);
  /// The number of a taken change whose write is unknown, for a trace of its row that knows none beyond 'newest': all its traces get the
  /// same.
  std::uint64_t number_taken(std::string_view table, std::string_view key, std::uint64_t newest);
  /// Ends the watches whose time is over and removes those whose readers are gone.
  void check();

  Runtime& runtime_;
  TimerSource timer_;  // Armed while there is a watcher.
  std::vector<std::shared_ptr<Watcher>> all_;
  std::unordered_multimap<std::string, std::weak_ptr<Trace>, Hash, std::equal_to<>> traces_;  // By key.
  std::uint64_t missed_ = 0;
  std::uint64_t changes_ = 0;  // The number of the newest change that has one.
};

}  // namespace rondo::commands
