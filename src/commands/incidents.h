// Incidents: counted faults that are over once they have happened: writes that the store refused, accepted writes that failed later, lost
// wake-ups, forgotten facts. `rondo health` reports each with the time of the last one: as a trouble for limits::kIncidentReported, then as
// a note. So a past fault does not remain a trouble until a restart, and is not forgotten. Other classes own the counters; `rondo stats`
// shows them. Scheduler thread.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/clock.h"

namespace rondo {
class Runtime;
}

namespace rondo::commands {

class WriteFailures;

/// A readable duration: "42 s", "5 min", "3 h", "9 days".
std::string span_text(Duration span);

/// The incidents of one kind.
class Incident {
 public:
  /// 'what' happened, such as "accepted writes that failed later"; static storage.
  explicit Incident(std::string_view what) : what_(what) {}

  /// 'count': how many happened since the start; 'newest': details of the last one. New ones get the present time.
  void check(std::uint64_t count, std::string_view newest, const Clock& clock);
  std::string_view what() const noexcept { return what_; }
  /// How many happened since the start, while they are a trouble; then 0.
  std::uint64_t recent(Instant now) const;
  /// Adds itself to 'troubles' or 'notes', if it ever happened.
  void report(Instant now, boost::json::array& troubles, boost::json::array& notes) const;
  /// As a note, whenever it happened: for incidents whose consequences `health` reports separately while they last.
  void note(Instant now, boost::json::array& notes) const;

 private:
  std::string words(Instant now) const;

  std::string_view what_;
  std::uint64_t count_ = 0;
  std::string newest_;
  Instant last_;
  WallTime last_wall_;
};

class Incidents {
 public:
  /// Reads the counters. Called every second and before report(), because an incident gets the time of the call that finds it.
  void check(Runtime& runtime, const WriteFailures& writes);
  void report(Instant now, boost::json::array& troubles, boost::json::array& notes) const;

 private:
  Incident wakes_{"lost wake-ups that were rescued"};
  Incident refused_writes_{"writes that the store refused"};
  Incident writes_{"accepted writes that failed later"};
  Incident facts_{"facts that an Orch forgot to announce or withdraw"};
  std::vector<Incident> of_store_;  // StoreReport::incidents.
};

}  // namespace rondo::commands
