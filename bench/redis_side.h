// The common parts of the benchmarks of tables on Redis: a store on its own scheduler, and clocks.
#pragma once

#include <errno.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "rondo/base/clock.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/redis_store.h"

namespace rondo::bench {

/// CPU time of the calling thread.
inline double thread_us() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

inline double wall_us() { return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
  std::exit(1);
}

/// A store on its own scheduler.
struct Side {
  explicit Side(const RedisAddress& address, TableKind kind = TableKind::Staged) : store(scheduler, options(address)) {
    require(store.declare({.name = "ROUTE_TABLE", .kind = kind}).ok(), "declare");
    require(run_until([this] { return store.health().ok(); }), "the store does not connect");
  }
  static RedisStoreOptions options(const RedisAddress& address) {
    RedisStoreOptions made;
    made.address = address;
    return made;
  }
  template <class Done>
  bool run_until(Done done) {
    const Instant deadline = clock.now() + 60s;
    scheduler.run_until_idle(64);
    while (!done()) {
      if (clock.now() > deadline) return false;
      scheduler.wait(std::min(deadline, clock.now() + 100ms));
      scheduler.run_until_idle(64);
    }
    return true;
  }
  SystemClock clock;
  std::unique_ptr<Reactor> reactor = make_epoll_reactor().value();
  Scheduler scheduler{clock, *reactor, *make_policy(StrictPriority{})};
  RedisStore store;
};

}  // namespace rondo::bench
