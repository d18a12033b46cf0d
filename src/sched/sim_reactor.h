// SimReactor: a reactor that the test controls. The test sets which descriptor is ready, now or at an instant. A poll() that would wait
// moves the SimClock to its deadline or to the next planned event. Descriptors are numbers that the test chooses.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "rondo/sched/reactor.h"
#include "rondo/sched/sim_clock.h"
#include "sched/reactor_event.h"

namespace rondo {

/// One thread, except interrupt(). 'clock' must outlive it.
class SimReactor final : public Reactor {
 public:
  explicit SimReactor(SimClock& clock) : clock_(clock) {}

  /// 'fd' becomes ready: its source is reported once. Ignored if 'fd' is not watched.
  void make_ready(int fd);
  /// 'fd' is in error from now on, until clear_error(): reported once, with the error.
  void make_error(int fd);
  void clear_error(int fd);
  /// Calls 'what' when the clock has reached 'when', in a poll() and not in a turn: an action of the outside world. Calls for equal
  /// instants run in the order of at().
  void at(Instant when, std::function<void()> what);
  /// Instant of the next planned call; never() if there is none.
  Instant next_planned() const noexcept;

  Status watch(int fd, Interest interest, Source& source) override;
  Status rewatch(int fd, Interest interest) override;
  Result<std::size_t> poll(Instant deadline, std::span<ReactorEvent> events) override;
  bool is_current(const ReactorEvent& event) const noexcept override;
  bool is_in_error(const ReactorEvent& event) const noexcept override;
  void interrupt() noexcept override { interrupted_ = true; }

  std::uint64_t polls() const noexcept { return polls_; }
  std::uint64_t waits() const noexcept { return waits_; }  // Polls that moved the clock.

 private:
  void forget(int fd) override;
  void forget_all(const Source& source) override;
  struct Watch {
    Source* source = nullptr;
    std::uint32_t number = 0;
    bool in_error = false;
  };
  struct Planned {
    Instant when;
    std::uint64_t sequence = 0;
    std::function<void()> what;
  };
  static bool later(const Planned& a, const Planned& b) noexcept { return a.when != b.when ? a.when > b.when : a.sequence > b.sequence; }
  void report(int fd, bool error);
  void happen();

  SimClock& clock_;
  std::map<int, Watch> watches_;
  std::vector<ReactorEvent> pending_;  // In the order in which they became ready.
  std::vector<Planned> planned_;       // A heap, earliest first.
  std::uint64_t sequence_ = 0;
  std::uint32_t watch_number_ = 0;
  std::uint64_t polls_ = 0;
  std::uint64_t waits_ = 0;
  bool interrupted_ = false;
};

}  // namespace rondo
