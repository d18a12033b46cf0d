// SafetyStop: holds a deletion that would take a large share of what is ours in the data plane: an empty Redis in place of a full one looks
// like the wish to have no routes. What is held waits for an operator (`rondo confirm`) or for a time; rows are programmed meanwhile.
// Scheduler's thread. The answers depend on the clock and on operators, so a user of it who is recorded in a journal records them.
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
  /// A deletion of more than this share of what is ours is held. 1: none is.
  double share = 1.0;
  /// But not one of fewer objects.
  std::uint64_t least = 100;
  /// It goes on by itself after so long. 0: never.
  Duration wait{0};
};

class SafetyStop {
 public:
  struct Held {
    std::string what;  // Such as "what an earlier run left".
    std::uint64_t count = 0;
    std::uint64_t total = 0;
    std::string parts;  // Such as "200 routes, 3 next hops and groups".
    Instant since;
  };
  enum class Event : std::uint8_t {
    Held,       // Nothing of it is deleted for now.
    Confirmed,  // By an operator.
    TimeIsOver,
    Fewer,  // Rows have come meanwhile that ask for what was to be deleted.
  };

  /// 'clock' must outlive it.
  SafetyStop(const Clock& clock, SafetyOptions options) : clock_(clock), options_(options) {}

  /// For the log.
  void on_event(std::function<void(Event event, const Held& held)> handler) { handler_ = std::move(handler); }

  /// Whether 'count' of the 'total' objects that are ours may be deleted now. 'what' is the name of the deletion: it is asked about again
  /// and again while it is held, and each name is held by itself. After true it is a new deletion.
  bool allows(std::string_view what, std::uint64_t count, std::uint64_t total, const std::string& parts = {});
  /// No deletion of this name is wanted any more.
  void forget(std::string_view what);
  /// Lets go on what is held, up to the numbers that are returned. Its next allows() says so.
  std::vector<Held> confirm();
  std::vector<Held> held() const;

 private:
  struct Place {
    Held held;
    std::uint64_t confirmed = 0;  // So many, at most.
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
