// RetryTimer: retries named objects together after a short delay. It is for transient refusals of the data plane for which no row waits (a
// row in the ledger has its own retry). One timer for any number of names. Scheduler thread only.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "rondo/orch/runtime.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/timer.h"
#include "switch_agent/retries.h"

namespace rondo::switch_agent {

class RetryTimer {
 public:
  /// 'again' is called for each name once, in a turn of 'priority'; it may add names.
  RetryTimer(Runtime& runtime, std::string name, Priority priority, std::function<void(const std::string&)> again)
      : scheduler_(runtime.scheduler()), again_(std::move(again)), timer_(std::move(name), priority, [this] { fire(); }) {
    runtime.scheduler().add(timer_);
  }

  void add(std::string_view name, Duration delay = kSoon) {
    names_.emplace(name);
    if (!timer_.is_armed()) timer_.arm_at(scheduler_.now() + delay);
  }

 private:
  void fire() {
    for (const std::string& name : std::exchange(names_, {})) again_(name);
  }

  const Scheduler& scheduler_;
  std::function<void(const std::string&)> again_;
  std::set<std::string, std::less<>> names_;
  TimerSource timer_;
};

}  // namespace rondo::switch_agent
