// Clocks, descriptors and small helpers of the works.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "rondo/base/clock.h"

namespace rondo::bench {

/// Ends the program with 'what', or if something does not hold: a figure of a run that went wrong is worth nothing.
[[noreturn]] void fail(std::string_view what);
inline void require(bool holds, std::string_view what) {
  if (!holds) [[unlikely]]
    fail(what);
}

Instant now();
/// Processor time of this thread: what others do on the machine does not count (except that they cool our caches).
Instant spent();
inline double nanoseconds_each(Duration time, std::uint64_t operations) {
  return static_cast<double>(time.count()) / static_cast<double>(operations);
}
inline double microseconds(Duration time) { return static_cast<double>(time.count()) / 1000.0; }
/// Uses the processor for 'time'.
void burn(Duration time);
/// Of sorted values; 0 of none.
double quantile(const std::vector<double>& sorted, double fraction);

/// What 'measure' returns, called in a process of its own: so no loop meets the heap that another has left behind, nor what it has told a
/// library for the whole process. Ends the program if that process fails.
std::vector<double> in_own_process(const std::function<std::vector<double>()>& measure);

/// Keeps this thread on the first (0) or second (1) processor it may use; without effect where there is only one.
void stay_on(unsigned processor);

/// Some eventfds, closed at the end; error() if the process may not have so many.
class EventFds {
 public:
  /// 'initial' is what each counts at first; 'one_by_one': a read takes one of it, not all.
  explicit EventFds(std::size_t count, unsigned initial = 0, bool one_by_one = false);
  EventFds(const EventFds&) = delete;
  EventFds& operator=(const EventFds&) = delete;
  ~EventFds();
  int error() const { return error_; }
  const std::vector<int>& all() const { return fds_; }
  void notify_all() const;

 private:
  std::vector<int> fds_;
  int error_ = 0;
};

/// As many descriptors as the process may have; how many that is.
std::size_t raise_descriptor_limit();

}  // namespace rondo::bench
