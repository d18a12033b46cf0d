// Home: one scheduler and what Agents has there. Knows whether the calling thread is inside one of its turns, which is when posting needs
// no lock. Shared by its lanes, so that it outlives the last address; 'core' and 'scheduler' are then gone, and every lane is closed.
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

  /// Before the scheduler is run.
  void enter() {
    scheduler.add(life);
    scheduler.add(arrivals);
  }
  /// When its lanes are closed, and no scheduler gives turns any more.
  void close() noexcept {
    life.close();
    scheduler.remove(arrivals);
  }

  /// The calling thread is in a turn of an agent here.
  bool is_here() const noexcept { return in_turn() == this; }
  /// It gives the turns here, so nobody else has to be waited for.
  bool is_own_thread() const noexcept { return thread_.load(std::memory_order_relaxed) == ::pthread_self(); }

  Agents::Core& core;
  Scheduler& scheduler;
  Life life;
  Arrivals arrivals;

 private:
  friend class InTurn;
  /// Of each thread by itself: a word of the home would be written in every turn, and read by each post of another processor.
  static const Home*& in_turn() noexcept {
    thread_local constinit const Home* home = nullptr;
    return home;
  }
  std::atomic<pthread_t> thread_{};
};

/// While it lives, the calling thread is in a turn of an agent of 'home'.
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
