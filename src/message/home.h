// Home: one scheduler and what Agents has there. Knows whether the calling thread is inside one of its turns, which is when posting needs
// no lock. Shared by its lanes, so that it outlives the last address; 'core' and 'scheduler' are then gone, and every lane is closed.
#pragma once

#include <pthread.h>

#include <atomic>

#include "message/life.h"
#include "rondo/message/agents.h"
#include "rondo/sched/scheduler.h"

namespace rondo::message {

struct Home {
  Home(Agents::Core& agents, Scheduler& given) : core(agents), scheduler(given), life(*this) {}

  /// The calling thread is in a turn of an agent here. Another thread cannot be told so: it would have to find its own number.
  bool is_here() const noexcept { return in_turn.load(std::memory_order_relaxed) == ::pthread_self(); }

  Agents::Core& core;
  Scheduler& scheduler;
  std::atomic<pthread_t> in_turn{};
  Life life;
};

/// While it lives, the calling thread is in a turn of an agent of 'home'.
class InTurn {
 public:
  explicit InTurn(Home& home) noexcept : home_(home), before_(home.in_turn.load(std::memory_order_relaxed)) {
    home_.in_turn.store(::pthread_self(), std::memory_order_relaxed);
  }
  ~InTurn() { home_.in_turn.store(before_, std::memory_order_relaxed); }
  InTurn(const InTurn&) = delete;
  InTurn& operator=(const InTurn&) = delete;

 private:
  Home& home_;
  pthread_t before_;
};

}  // namespace rondo::message
