// Clocks, descriptors and small helpers of the works.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "rondo/base/clock.h"

namespace rondo::bench {

/// Ends the program with 'what'; require(): if a condition fails. The figures of a failed run are worthless.
[[noreturn]] void fail(std::string_view what);
inline void require(bool holds, std::string_view what) {
  if (!holds) [[unlikely]]
    fail(what);
}

Instant now();
/// Processor time of this thread: other processes do not count (except that they evict our caches).
Instant spent();
inline double nanoseconds_each(Duration time, std::uint64_t operations) {
  return static_cast<double>(time.count()) / static_cast<double>(operations);
}
inline double microseconds(Duration time) { return static_cast<double>(time.count()) / 1000.0; }
/// Uses the processor for 'time'.
void burn(Duration time);
/// A quantile of sorted values; 0 if there are none.
double quantile(const std::vector<double>& sorted, double fraction);

/// Calls 'measure' in a separate process and returns its result, so that no loop inherits the heap or the process-wide library settings of
/// another. Ends the program if that process fails.
std::vector<double> in_own_process(const std::function<std::vector<double>()>& measure);

/// Binds this thread to the first (0) or second (1) permitted CPU; no effect if there is only one.
void stay_on(unsigned processor);

/// Some eventfds, closed by the destructor; error() if the process may not have so many.
class EventFds {
 public:
  /// 'initial' is the first count of each; 'one_by_one': a read takes one, not all.
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

/// Raises the limit of descriptors to the maximum, and returns it.
std::size_t raise_descriptor_limit();

}  // namespace rondo::bench
