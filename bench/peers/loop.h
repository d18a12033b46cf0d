// Loop: what every event loop that is measured must be able to do, and no more: watch descriptors under priorities, and take messages from
// this and from another thread. One file a loop beside this one; the works (works.h) are the same code for all of them. Each loop is used
// as its own documentation advises; where that advises two ways, both are candidates with a row of their own.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rondo/base/time.h"

namespace rondo::bench {

/// 0 to 7, higher first, as everywhere in Rondo; each loop turns it into its own numbers.
inline constexpr unsigned kPriorities = 8;

/// What to do when an eventfd is readable. Not owned by the loop, and outlives it.
class Ready {
 public:
  explicit Ready(int descriptor) : fd(descriptor) {}
  virtual ~Ready() = default;
  Ready(const Ready&) = delete;
  Ready& operator=(const Ready&) = delete;
  /// 'value' has been read. True if the descriptor is still readable: a loop that is told of edges comes again by itself.
  virtual bool take(std::uint64_t value) = 0;
  /// The same for a loop that tells of readiness and leaves the reading to its user.
  bool read_and_take() {
    std::uint64_t value = 0;
    if (::read(fd, &value, sizeof value) != static_cast<ssize_t>(sizeof value)) std::abort();
    return take(value);
  }
  const int fd;
};

/// Handles the messages of a port, on the loop's thread. Not owned by the loop, and outlives it.
class Receiver {
 public:
  virtual ~Receiver() = default;
  virtual void take(std::int64_t message) = 0;
};

/// The way of messages to one receiver.
class Port {
 public:
  virtual ~Port() = default;
  /// Any thread but the loop's.
  virtual void send(std::int64_t message) = 0;
  /// The loop's thread: in a handler, or while it does not run.
  virtual void send_here(std::int64_t message) = 0;
};

/// What a loop says beforehand of a source of some priority while all others flood. Empty: nothing.
struct Promise {
  std::optional<double> share;  // Of the time, 0 to 1.
  std::optional<Duration> longest_wait;
};

/// Made, run and destroyed on one thread.
class Loop {
 public:
  Loop() = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  virtual ~Loop() = default;

  /// Ports are opened before the first descriptor is watched.
  virtual Port& open(Receiver& receiver, unsigned priority) = 0;
  virtual void watch(Ready& ready, unsigned priority) = 0;
  /// After run(), of what is watched under 'priority'.
  virtual Promise promise(unsigned) const { return {}; }

  /// Gives turns, waiting where nothing is ready, until handlers have called count() so often.
  void run(std::uint64_t handlers) {
    left_ = handlers;
    run_until_done();
  }
  void count() {
    if (left_ != 0 && --left_ == 0) finish();
  }

 protected:
  virtual void run_until_done() = 0;
  /// In the last handler.
  virtual void finish() {}
  bool done() const { return left_ == 0; }
  std::uint64_t left() const { return left_; }

 private:
  std::uint64_t left_ = 0;
};

/// Whether messages come from another thread: loops that can do without locks do so where none do.
enum class Threads : std::uint8_t { One, Several };

/// Where a candidate has a row.
enum : unsigned { kDispatch = 1, kLocal = 2, kHandOver = 4, kFlood = 8, kStarvation = 16, kAll = 31 };

enum class Side : std::uint8_t { Floor, Ours, Peer };

struct Candidate {
  std::string name;
  Side side = Side::Peer;
  unsigned works = kAll;
  bool strict = false;  // Promises that of what is ready the highest priority is always next.
  std::function<std::unique_ptr<Loop>(Threads)> make;
};
using Candidates = std::vector<Candidate>;

// Those that are built; see candidates.cc.
Candidates bare_loops();
Candidates rondo_loops();
Candidates sd_event_loops();
Candidates glib_loops();
Candidates libevent_loops();
Candidates asio_loops();

/// All that are built, those of 'work' only. The first of Side::Ours is the one that is compared.
Candidates candidates(unsigned work);
/// A line for each peer that is not built, with the package that is missing.
std::vector<std::string> missing_peers();

}  // namespace rondo::bench
