// Reactor: reports to the scheduler which descriptors are ready. Replaceable: production uses epoll (sched/reactor_epoll.cc); in simulation
// the test decides (sched/sim_reactor.h). It returns sources and runs no handlers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "rondo/base/result.h"
#include "rondo/base/time.h"

namespace rondo {

struct ReactorEvent;
class Source;

enum class Interest : std::uint8_t { Read = 1, Write = 2, ReadWrite = 3 };

class Reactor {
 public:
  virtual ~Reactor();

  /// Reports 'source' whenever 'fd' becomes readable (writable). Edge-triggered: after a report the source must read until EAGAIN, or
  /// return Backlog::More until it has done so. The caller owns 'fd' and must call unwatch() before closing it. A descriptor has one
  /// source; a source may have several descriptors. AlreadyExists if the descriptor is watched; InvalidArgument if 'interest' is none of
  /// Interest; otherwise the error of the system call. While the source's scheduler gives turns on another thread, it ends the process.
  virtual Status watch(int fd, Interest interest, Source& source) = 0;
  /// Changes the interest of a watched descriptor; if it is ready now, it is reported again. NotFound if it is not watched.
  virtual Status rewatch(int fd, Interest interest) = 0;
  /// Stops watching 'fd'. Its events that were already reported are no longer current. Ignores an unknown descriptor.
  void unwatch(int fd) {
    ++ended_watches_;
    forget(fd);
  }
  /// Stops watching every descriptor of 'source'. O(descriptors of the source).
  void unwatch_all(const Source& source) {
    ++ended_watches_;
    forget_all(source);
  }

  /// Waits until a descriptor is ready, interrupt() is called, or 'deadline' has passed. With Instant{} (or any past instant) it does not
  /// wait. Fills 'events' from the front and returns their number. If it returns events.size(), more may be pending.
  virtual Result<std::size_t> poll(Instant deadline, std::span<ReactorEvent> events) = 0;

  /// Grows whenever watches may have ended. While it does not change, all events of the last poll() are current: is_current().
  std::uint64_t ended_watches() const noexcept { return ended_watches_; }
  /// True if the watch of 'event' still exists: it was neither removed nor replaced. O(1).
  virtual bool is_current(const ReactorEvent& event) const noexcept = 0;
  /// True if the watch still exists and its descriptor is in error or hung up now. One system call.
  virtual bool is_in_error(const ReactorEvent& event) const noexcept = 0;

  /// A descriptor that is readable while poll() would return something. A foreign event loop waits on it in place of the scheduler (see
  /// Scheduler::before_foreign_wait). -1 if this reactor has none.
  virtual int wait_descriptor() const noexcept { return -1; }

  /// Makes the poll() that waits now, or the next one that would wait, return immediately. Any thread. Async-signal-safe.
  virtual void interrupt() noexcept = 0;

 protected:
  /// The checks of the arguments of watch() and rewatch() that all reactors share. 'call' is named.
  static Status check(std::string_view call, int fd, Interest interest);
  static void expect_here(const Source& source);

 private:
  /// Implement unwatch() and unwatch_all().
  virtual void forget(int fd) = 0;
  virtual void forget_all(const Source& source) = 0;

  std::uint64_t ended_watches_ = 0;
};

/// The Linux reactor: epoll, edge-triggered, and one eventfd for interrupt(). Fails when the process is out of descriptors.
Result<std::unique_ptr<Reactor>> make_epoll_reactor();

}  // namespace rondo
