// Loop: the common interface of the measured event loops: watch descriptors with priorities, and accept messages from this and from
// another thread. One file per loop; the works (works.h) are the same code for all. Each loop is used as its documentation advises; if
// that advises two ways, both are candidates with their own rows.
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

/// 0 to 7, higher first, as everywhere in Rondo; each loop translates it to its own numbers.
inline constexpr unsigned kPriorities = 8;

/// Handles a readable eventfd. Not owned by the loop; must outlive it.
class Ready {
 public:
  explicit Ready(int descriptor) : fd(descriptor) {}
  virtual ~Ready() = default;
  Ready(const Ready&) = delete;
  Ready& operator=(const Ready&) = delete;
  /// 'value' was read. Returns true if the descriptor is still readable: an edge-triggered loop then handles it again by itself.
  virtual bool take(std::uint64_t value) = 0;
  /// The same for a loop that reports readiness and leaves the reading to its user.
  bool read_and_take() {
    std::uint64_t value = 0;
    if (::read(fd, &value, sizeof value) != static_cast<ssize_t>(sizeof value)) std::abort();
    return take(value);
  }
  const int fd;
};

/// Handles the messages of a port, on the loop's thread. Not owned by the loop; must outlive it.
class Receiver {
 public:
  virtual ~Receiver() = default;
  virtual void take(std::int64_t message) = 0;
};

/// Sends messages to one receiver.
class Port {
 public:
  virtual ~Port() = default;
  /// Any thread except the loop's.
  virtual void send(std::int64_t message) = 0;
  /// The loop's thread only: in a handler, or while the loop does not run.
  virtual void send_here(std::int64_t message) = 0;
};

/// The loop's promise for a source of a given priority while all others flood. Empty: none.
struct Promise {
  std::optional<double> share;  // The share of the time, 0 to 1.
  std::optional<Duration> longest_wait;
};

/// Created, run and destroyed on one thread.
class Loop {
 public:
  Loop() = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  virtual ~Loop() = default;

  /// Call before the first descriptor is watched.
  virtual Port& open(Receiver& receiver, unsigned priority) = 0;
  virtual void watch(Ready& ready, unsigned priority) = 0;
  /// Call after run(): the promise for descriptors watched with 'priority'.
  virtual Promise promise(unsigned) const { return {}; }

  /// Runs turns, blocking while nothing is ready, until handlers have called count() this often.
  void run(std::uint64_t handlers) {
    left_ = handlers;
    run_until_done();
  }
  void count() {
    if (left_ != 0 && --left_ == 0) finish();
  }

 protected:
  virtual void run_until_done() = 0;
  /// Called by the last handler.
  virtual void finish() {}
  bool done() const { return left_ == 0; }
  std::uint64_t left() const { return left_; }

 private:
  std::uint64_t left_ = 0;
};

/// True if another thread sends messages: loops that can omit locks do so if none does.
enum class Threads : std::uint8_t { One, Several };

/// The works in which a candidate takes part.
enum : unsigned { kDispatch = 1, kLocal = 2, kHandOver = 4, kFlood = 8, kStarvation = 16, kAll = 31 };

enum class Side : std::uint8_t { Floor, Ours, Peer };

struct Candidate {
  std::string name;
  Side side = Side::Peer;
  unsigned works = kAll;
  bool strict = false;  // Promises that the highest ready priority always runs next.
  std::function<std::unique_ptr<Loop>(Threads)> make;
};
using Candidates = std::vector<Candidate>;

// The loops that are built; see candidates.cc.
Candidates bare_loops();
Candidates rondo_loops();
Candidates sd_event_loops();
Candidates glib_loops();
Candidates libevent_loops();
Candidates asio_loops();

/// All built candidates of 'work'. The first of Side::Ours is the compared one.
Candidates candidates(unsigned work);
/// A line for each peer that is not built, with the missing package.
std::vector<std::string> missing_peers();

}  // namespace rondo::bench
