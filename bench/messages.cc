// The cost of a message: queued and then handled, from another thread, to oneself, at a low rate, and idle. The target is printed beside
// each figure. Plain main; each figure is the best of several rounds, except the CPU shares, which are from one run. Only ratios within
// one run matter.
//   bench_messages [rounds] [seconds of the trickle]
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/message/agents.h"
#include "rondo/sched/scheduler.h"

namespace {
std::atomic<std::uint64_t> allocations{0};
}

[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size != 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const auto line = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(line, (size + line - 1) / line * line)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace {

using namespace rondo;

constexpr std::size_t kPriorities = 8;
constexpr std::uint64_t kMessages = 1'000'000;
const SystemClock kClock;

struct Task {
  std::uint64_t number;
};

Instant spent(clockid_t of) {
  timespec ts{};
  ::clock_gettime(of, &ts);
  return Instant::from_nanoseconds(static_cast<std::int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec);
}

void must(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "bench_messages: %s\n", status.to_string().c_str());
  std::abort();
}

class Worker final : public Agent {
 public:
  Worker(AgentGroup& group, Priority priority) : Agent(group, "worker", priority) { receive<&Worker::work>(); }
  void work(const Task& task) {
    sum += task.number;
    ++handled;
    if (handled == stop_at) scheduler().stop();
    if (sends_left > 0) {
      --sends_left;
      must(self.post(Task{1}));
    }
  }
  Address self;
  std::uint64_t sum = 0;
  std::uint64_t handled = 0;
  std::uint64_t stop_at = UINT64_MAX;
  std::uint64_t sends_left = 0;
};

/// Eight agents with eight priorities, on a scheduler of the calling thread.
struct Stage {
  explicit Stage(const PolicyOptions& policy = StrictPriority{}) : scheduler(kClock, *reactor, std::move(make_policy(policy).value())) {
    must(agents.add([&](AgentGroup& group) {
                 for (unsigned i = 0; i < kPriorities; ++i) {
                   workers[i] = &group.make<Worker>(Priority{i});
                   workers[i]->self = workers[i]->address();
                 }
                 return Status{};
               }).has_value()
             ? Status{}
             : Status{StatusCode::Internal, "no agents"});
    scheduler.run_until_idle();
  }
  const std::unique_ptr<Reactor> reactor = std::move(make_epoll_reactor().value());
  Scheduler scheduler;
  Agents agents{scheduler, {.messages_max = 4 * kMessages}};
  std::array<Worker*, kPriorities> workers{};
};

struct Queued {
  double queue_ns = 1e9;
  double handle_ns = 1e9;
  double allocations = 0;
};

Queued queued_then_handled(int rounds, const PolicyOptions& policy) {
  Stage stage(policy);
  Queued best;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t allocated = allocations.load();
    const Instant begin = kClock.now();
    for (std::uint64_t i = 0; i < kMessages; ++i) must(stage.workers[i % kPriorities]->self.post(Task{i}));
    const Instant queued = kClock.now();
    stage.scheduler.run_until_idle();
    const Instant handled = kClock.now();
    best.queue_ns = std::min(best.queue_ns, static_cast<double>((queued - begin).count()) / kMessages);
    best.handle_ns = std::min(best.handle_ns, static_cast<double>((handled - queued).count()) / kMessages);
    best.allocations = static_cast<double>(allocations.load() - allocated) / kMessages;
  }
  std::uint64_t handled = 0;
  for (const Worker* worker : stage.workers) handled += worker->handled;
  if (handled != kMessages * static_cast<std::uint64_t>(rounds)) std::abort();
  return best;
}

double self_send(int rounds, const PolicyOptions& policy) {
  Stage stage(policy);
  double best = 1e9;
  for (int round = 0; round < rounds; ++round) {
    stage.workers[3]->sends_left = kMessages;
    must(stage.workers[3]->self.post(Task{1}));
    const Instant begin = kClock.now();
    stage.scheduler.run_until_idle();
    best = std::min(best, static_cast<double>((kClock.now() - begin).count()) / kMessages);
  }
  return best;
}

/// Nanoseconds a message from the first post to the last handler. 'in_a_row' messages go to one priority before the next.
double producer_against_worker(int rounds, std::uint64_t in_a_row) {
  double best = 1e9;
  for (int round = 0; round < rounds; ++round) {
    Stage stage;
    std::atomic<bool> go{false};
    // The last message goes to the lowest priority: when it is handled, all have been handled.
    stage.workers[0]->stop_at = 0;
    std::uint64_t to_lowest = 0;
    for (std::uint64_t i = 0; i < kMessages; ++i) to_lowest += (i / in_a_row) % kPriorities == 0 ? 1U : 0U;
    stage.workers[0]->stop_at = to_lowest + 1;
    std::thread producer([&] {
      while (!go.load()) {
      }
      for (std::uint64_t i = 0; i < kMessages; ++i) must(stage.workers[(i / in_a_row) % kPriorities]->self.post(Task{i}));
      must(stage.workers[0]->self.post(Task{0}));
    });
    const Instant begin = kClock.now();
    go.store(true);
    stage.scheduler.run();
    const Duration took = kClock.now() - begin;
    producer.join();
    stage.scheduler.run_until_idle();
    best = std::min(best, static_cast<double>(took.count()) / kMessages);
  }
  return best;
}

struct Share {
  double process = 0;
  double receiver = 0;
};

/// The share of a core used while one message arrives each 'period'; without messages, while idle.
Share share(Duration period, Duration time) {
  Stage stage;
  const Instant begin_process = spent(CLOCK_PROCESS_CPUTIME_ID);
  const Instant begin_receiver = spent(CLOCK_THREAD_CPUTIME_ID);
  const Instant begin = kClock.now();
  std::atomic<bool> ended{false};
  std::thread producer([&] {
    Instant next = kClock.now();
    while (!ended.load()) {
      next = next + (period > Duration{0} ? period : Duration{time});
      const timespec until{static_cast<time_t>(next.nanoseconds() / 1'000'000'000), static_cast<long>(next.nanoseconds() % 1'000'000'000)};
      ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
      if (period > Duration{0}) must(stage.workers[7]->self.post(Task{1}));
      if (kClock.now() - begin >= time) {
        stage.scheduler.stop();
        return;
      }
    }
  });
  stage.scheduler.run();
  producer.join();
  stage.scheduler.run_until_idle();
  const double all = static_cast<double>((kClock.now() - begin).count()) / 100.0;
  return {static_cast<double>((spent(CLOCK_PROCESS_CPUTIME_ID) - begin_process).count()) / all,
          static_cast<double>((spent(CLOCK_THREAD_CPUTIME_ID) - begin_receiver).count()) / all};
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 5;
  const auto seconds = std::chrono::seconds{count > 2 ? std::atoi(arguments[2]) : 5};
  std::printf("%-52s %10s %10s\n", "", "measured", "wanted");
  const std::pair<const char*, PolicyOptions> policies[] = {{"frames", BudgetedFrames{}},
                                                            {"strict", StrictPriority{}},
                                                            {"strictly ordered", StrictlyOrdered{}},
                                                            {"quoted round robin, 10 items", QuotedRoundRobin{}},
                                                            {"quoted round robin, 1 item", QuotedRoundRobin{.quota = 1}}};
  double one_thread_ns = 0;
  for (const auto& [name, policy] : policies) {
    const Queued queued = queued_then_handled(rounds, policy);
    std::printf("%s\n", name);
    std::printf("%-52s %10.1f %10s\n", "  queueing, ns a message", queued.queue_ns, "");
    std::printf("%-52s %10.1f %10s\n", "  queued over eight priorities, then handled, M/s", 1000.0 / queued.handle_ns, ">= 25");
    std::printf("%-52s %10.3f %10s\n", "  allocations a message", queued.allocations, "0");
    std::printf("%-52s %10.1f %10s\n", "  self-send, ns", self_send(rounds, policy), "<= 60");
    if (std::holds_alternative<StrictPriority>(policy)) one_thread_ns = queued.queue_ns + queued.handle_ns;
  }
  std::printf("strict\n");
  for (const std::uint64_t in_a_row : {std::uint64_t{1}, std::uint64_t{1000}}) {
    const double handover_ns = producer_against_worker(rounds, in_a_row);
    std::printf("from another thread, %4d of a priority in a row, M/s %14.1f\n", static_cast<int>(in_a_row), 1000.0 / handover_ns);
    std::printf("%-52s %10.1f\n", "  its time to that of queueing and handling in one", handover_ns / one_thread_ns);
  }
  const Share trickle = share(1500us, seconds);
  std::printf("%-52s %10.2f %10s\n", "a message each 1.5 ms, CPU % of the receiving thread", trickle.receiver, "< 2");
  std::printf("%-52s %10.2f %10s\n", "the same with the sender and its timer", trickle.process, "");
  std::printf("%-52s %10.3f %10s\n", "idle, CPU %", share(Duration{0}, seconds).process, "< 0.1");
}
