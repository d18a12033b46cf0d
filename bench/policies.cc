// What a policy does to those who wait, on the real clock. (1) Priority 7 is woken every millisecond by a timer while a hundred sources
// flood priority 0 with handlers of 50 us: its wait for a turn, beside what the same timer has to wait where nothing floods. (2) The turns
// a second of priority 0 while seven higher ones flood, and its share of the time beside its budget's share. Needs a quiet machine; ratios
// within one run matter.
//   bench_policies [seconds of each part, default 3]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/sched/scheduler.h"

namespace {

using namespace rondo;

const SystemClock kClock;
constexpr Duration kHandler = 50us;

void burn(Duration time) {
  const Instant end = kClock.now() + time;
  while (kClock.now() < end) {
  }
}

struct Flood final : Source {
  Flood(std::string name, unsigned priority) : Source(std::move(name), Priority{priority}) {}
  Turn run(Budget) override {
    burn(kHandler);
    return {.items = 1, .backlog = Backlog::More};
  }
  bool has_backlog() const override { return true; }
};

struct Named {
  const char* name;
  PolicyOptions options;
};

std::vector<Named> policies() {
  return {{"budgeted frames", BudgetedFrames{}},
          {"strict priority", StrictPriority{}},
          {"strictly ordered", StrictlyOrdered{}},
          {"quoted round robin", QuotedRoundRobin{}}};
}

struct Rig {
  explicit Rig(const PolicyOptions& options)
      : reactor(std::move(make_epoll_reactor().value())), scheduler(kClock, *reactor, std::move(make_policy(options).value())) {}
  void flood(unsigned priority) {
    floods.push_back(std::make_unique<Flood>("flood", priority));
    scheduler.add(*floods.back());
  }
  void run(Duration time) {
    TimerSource end("end", Priority{63}, [this] { scheduler.stop(); });
    scheduler.add(end);
    end.arm_at(kClock.now() + time);
    scheduler.run();
  }
  std::unique_ptr<Reactor> reactor;
  Scheduler scheduler;
  std::vector<std::unique_ptr<Flood>> floods;
};

/// How late the urgent timer's callbacks are after the instant for which it was armed.
struct Lateness {
  double p50_us = 0;
  double p99_us = 0;
  std::size_t turns = 0;
};

Lateness urgent(const PolicyOptions& options, int floods, Duration time) {
  Rig rig(options);
  for (int i = 0; i < floods; ++i) rig.flood(0);
  std::vector<double> late;
  Instant due = kClock.now() + 1ms;
  TimerSource timer("urgent", Priority::p7, [&] {
    const Instant now = kClock.now();
    late.push_back(std::chrono::duration<double, std::micro>(now - due).count());
    while (due <= now) due = due + 1ms;
    timer.arm_at(due);
  });
  rig.scheduler.add(timer);
  timer.arm_at(due);
  rig.run(time);
  std::ranges::sort(late);
  if (late.empty()) return {};
  return {late[late.size() / 2], late[late.size() * 99 / 100], late.size()};
}

void print_shares(const PolicyOptions& options, const char* name, Duration time) {
  Rig rig(options);
  for (unsigned p = 0; p < 8; ++p) rig.flood(p);
  rig.run(time);
  Duration all{0};
  double budgets = 0;
  const PolicySettings& settings = rig.scheduler.policy().settings();
  for (unsigned p = 0; p < 8; ++p) {
    all += rig.floods[p]->stats().ran;
    budgets += static_cast<double>(settings.budgets[p]);
  }
  const Source& low = *rig.floods.front();
  const Duration bound = rig.scheduler.bound(low);
  std::printf("  %-20s %10.0f %9.2f %%", name, static_cast<double>(low.stats().turns) / std::chrono::duration<double>(time).count(),
              100.0 * static_cast<double>(low.stats().ran.count()) / static_cast<double>(std::max<std::int64_t>(all.count(), 1)));
  if (bound == Duration::max()) {
    std::printf(" %10s %12.1f %12s\n", "-", std::chrono::duration<double, std::milli>(low.stats().longest_wait).count(), "-");
  } else {
    std::printf(" %8.2f %% %12.1f %12.1f\n", 100.0 * static_cast<double>(settings.budgets[0]) / budgets,
                std::chrono::duration<double, std::milli>(low.stats().longest_wait).count(),
                std::chrono::duration<double, std::milli>(bound).count());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto time = std::chrono::seconds{argc > 1 ? std::max(1, std::atoi(argv[1])) : 3};
  std::printf("Priority 7 every millisecond, 100 sources flood priority 0 with 50 us (target: p99 at most 60 us above the floor's)\n");
  std::printf("  %-20s %10s %10s %8s\n", "", "p50 us", "p99 us", "turns");
  const Lateness floor = urgent(BudgetedFrames{}, 0, time);
  std::printf("  %-20s %10.1f %10.1f %8zu\n", "floor: no flood", floor.p50_us, floor.p99_us, floor.turns);
  for (const Named& policy : policies()) {
    const Lateness late = urgent(policy.options, 100, time);
    std::printf("  %-20s %10.1f %10.1f %8zu\n", policy.name, late.p50_us, late.p99_us, late.turns);
  }
  std::printf("Priority 0 while priorities 1 to 7 flood with 50 us (target: its share is that of its budget; the wait within the bound)\n");
  std::printf("  %-20s %10s %11s %10s %12s %12s\n", "", "turns/s", "share", "budget's", "longest ms", "bound ms");
  for (const Named& policy : policies()) print_shares(policy.options, policy.name, time);
  return 0;
}
