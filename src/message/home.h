// Home: one scheduler and the objects of Agents on it. It knows whether the calling thread is in one of its turns, because posting needs
// no lock then. Shared by its lanes, so it outlives the last address; 'core' and 'scheduler' are then gone, and every lane is closed.
#pragma once

#include <pthread.h>

#include <atomic>
#include <utility>

#include "message/arrivals.h"
#include "message/life.h"
#include "rondo/message/agents.h"
#include "rondo/sched/scheduler.h"

namespace rondo::message {

struct Home {
  Home(Agents::Core& agents, Scheduler& given) : core(agents), scheduler(given), life(*this) {}

  /// Call it before the scheduler is run.
  void enter() {
    scheduler.add(life);
    scheduler.add(arrivals);
  }
  /// Call it when its lanes are closed and no scheduler gives turns any more.
  void close() noexcept {
    life.close();
    scheduler.remove(arrivals);
  }

  /// True if the calling thread is in a turn of an agent of this home.
  bool is_here() const noexcept { return in_turn() == this; }
  /// True if the calling thread runs the turns of this home, so it must not wait for another thread.
  bool is_own_thread() const noexcept { return thread_.load(std::memory_order_relaxed) == ::pthread_self(); }

  Agents::Core& core;
  Scheduler& scheduler;
  Life life;
  Arrivals arrivals;

 private:
  friend class InTurn;
  /// A thread-local variable: a member of the home would be written in every turn and read by each post on another processor.
  static const Home*& in_turn() noexcept {
    thread_local constinit const Home* home = nullptr;
    return home;
  }
  std::atomic<pthread_t> thread_{};
};

/// While it exists, the calling thread is in a turn of an agent of 'home'.
class InTurn {
 public:
  explicit InTurn(Home& home) noexcept : before_(std::exchange(Home::in_turn(), &home)) {
    if (!home.is_own_thread()) home.thread_.store(::pthread_self(), std::memory_order_relaxed);
  }
  ~InTurn() { Home::in_turn() = before_; }
  InTurn(const InTurn&) = delete;
  InTurn& operator=(const InTurn&) = delete;

 private:
  const Home* const before_;
};

}  // namespace rondo::message
