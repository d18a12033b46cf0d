// SafetyStop: holds a deletion that would remove a large share of our objects in the data plane. An empty Redis in place of a full one
// would otherwise delete all routes. A held deletion waits for an operator (`rondo confirm`) or for a time; rows are programmed meanwhile.
// Scheduler thread only. Its answers depend on the clock and on operators, so a user whose run is recorded in a journal records them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/time.h"

namespace rondo::switch_agent {

struct SafetyOptions {
  /// The largest share of our objects that one deletion may remove without being held. 1: nothing is held.
  double share = 1.0;
  /// A deletion of fewer objects than this is never held.
  std::uint64_t least = 100;
  /// A held deletion is allowed after this time. 0: never.
  Duration wait{0};
};

/// The deletion at the end of a start.
inline constexpr std::string_view kEarlierRun = "what an earlier run left";

class SafetyStop {
 public:
  struct Held {
    std::string what;  // Such as kEarlierRun.
    std::uint64_t count = 0;
    std::uint64_t total = 0;
    std::string parts;  // Such as "200 routes, 3 next hops and groups".
    Instant since;
  };
  enum class Event : std::uint8_t {
    Held,       // The deletion waits; none of its objects is deleted for now.
    Confirmed,  // An operator confirmed it.
    TimeIsOver,
    Fewer,  // Fewer objects are to be deleted, because rows or routes that ask for the others have arrived meanwhile.
  };

  /// 'clock' must outlive it.
  SafetyStop(const Clock& clock, SafetyOptions options) : clock_(clock), options_(options) {}

  /// Sets the handler that logs the events.
  void on_event(std::function<void(Event event, const Held& held)> handler) { handler_ = std::move(handler); }

  /// Returns true if 'count' of our 'total' objects may be deleted now. 'what' names the deletion: the caller repeats the call while the
  /// deletion is held, and each name is held separately. After true, a later call with the same name begins a new deletion.
  bool allows(std::string_view what, std::uint64_t count, std::uint64_t total, const std::string& parts = {});
  /// Called when no deletion of this name is wanted any more.
  void forget(std::string_view what);
  /// Permits the held deletions up to the returned numbers. The next allows() for each returns true.
  std::vector<Held> confirm();
  std::vector<Held> held() const;

 private:
  struct Place {
    Held held;
    std::uint64_t confirmed = 0;  // The most objects that the confirmation covers.
  };
  using Places = std::map<std::string, Place, std::less<>>;
  bool let_go(Places::iterator place, Event event);
  void tell(Event event, const Held& held) const {
    if (handler_) handler_(event, held);
  }

  const Clock& clock_;
  const SafetyOptions options_;
  std::function<void(Event, const Held&)> handler_;
  Places places_;
};

}  // namespace rondo::switch_agent
