// Reactor: tells the scheduler which descriptors have something. A seam: epoll in production (sched/reactor_epoll.cc), told by the test
// in simulation (sim/sim_reactor.h). It names sources and runs nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "rondo/base/result.h"
#include "rondo/base/time.h"

namespace rondo {

class Source;

enum class Interest : std::uint8_t { Read = 1, Write = 2, ReadWrite = 3 };

struct ReactorEvent {
  Source* source = nullptr;
  int fd = -1;
  std::uint32_t watch = 0;  // Which watch() of 'fd' this is about: a closed number comes back as another descriptor.
  bool error = false;       // The descriptor is in error or hung up. collect() is still called: data may be left to read.
};

class Reactor {
 public:
  virtual ~Reactor();

  /// Reports 'source' whenever 'fd' becomes readable (writable). Edge-triggered: after a report the source must either read until EAGAIN
  /// or go on answering Backlog::More. The caller keeps owning 'fd' and calls unwatch() before closing it. One source a descriptor;
  /// a source may have several. AlreadyExists if the descriptor is watched, or the error of the system call.
  virtual Status watch(int fd, Interest interest, Source& source) = 0;
  /// Changes the interest of a watched descriptor; if it is ready now, it is reported again. NotFound if it is not watched.
  virtual Status rewatch(int fd, Interest interest) = 0;
  /// Forgets 'fd'. Reports of it that are under way are no longer current. Unknown descriptors are ignored.
  void unwatch(int fd) {
    ++ended_watches_;
    forget(fd);
  }
  /// Forgets every descriptor of 'source'. O(descriptors of the source).
  void unwatch_all(const Source& source) {
    ++ended_watches_;
    forget_all(source);
  }

  /// Waits until 'deadline' at most, or until a descriptor is ready, or interrupt() was called. Instant{} (or any past instant) only looks.
  /// Fills 'events' from the front and returns how many; more may be pending when it returns events.size().
  virtual Result<std::size_t> poll(Instant deadline, std::span<ReactorEvent> events) = 0;

  /// Grows whenever watches may have ended. While it stays the same, all that the last poll() reported is_current().
  std::uint64_t ended_watches() const noexcept { return ended_watches_; }
  /// The watch behind 'event' stands: it was neither forgotten nor replaced since. O(1).
  virtual bool is_current(const ReactorEvent& event) const noexcept = 0;
  /// The watch stands and its descriptor is in error or hung up at this moment. A system call.
  virtual bool is_in_error(const ReactorEvent& event) const noexcept = 0;

  /// A descriptor that is readable while poll() would find something: for a foreign event loop that waits in our place (see
  /// Scheduler::before_foreign_wait). -1 if this reactor has none.
  virtual int wait_descriptor() const noexcept { return -1; }

  /// Makes the current or the next waiting poll() return at once. Any thread. Async-signal-safe.
  virtual void interrupt() noexcept = 0;

 private:
  /// unwatch() and unwatch_all().
  virtual void forget(int fd) = 0;
  virtual void forget_all(const Source& source) = 0;

  std::uint64_t ended_watches_ = 0;
};

/// The Linux reactor: epoll, edge-triggered, and one eventfd for interrupt(). Fails when the process is out of descriptors.
Result<std::unique_ptr<Reactor>> make_epoll_reactor();

}  // namespace rondo
