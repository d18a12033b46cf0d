// When a worker is worth its cost. A table of routes whose handler uses a given time a row, and a table of ports with an external event
// each millisecond: first both at home, then the routes on a worker. Prints routes a second, the time from the port's event to its
// handler, and the CPU time of a route beyond its handler. Plain main: bench_workers [seconds of handler time a line, default 1].
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rondo/orch/orch.h"
#include "rondo/orch/runtime.h"
#include "rondo/orch/worker.h"
#include "rondo/sched/mailbox.h"
#include "sched/ring.h"

namespace rondo {
namespace {

double cpu_seconds(clockid_t id) {
  timespec time{};
  ::clock_gettime(id, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

class Routes final : public Orch {
 public:
  Routes(Runtime& runtime, Duration cost, std::size_t rows, Runtime& home)
      : Orch(runtime, "routes", Priority::p1), cost_(cost), rows_(rows), home_(home) {
    consume("ROUTE", this, &Routes::set, &Routes::remove);
  }

 private:
  Outcome set(std::string_view, const Fields&) {
    if (cost_ > Duration{0}) {
      for (const Instant end = clock_.now() + cost_; clock_.now() < end;) {
      }
    }
    if (++handled_ == rows_) home_.stop();
    return Outcome::done();
  }
  Outcome remove(std::string_view) { return Outcome::done(); }
  SystemClock clock_;
  Duration cost_;
  std::size_t rows_;
  std::size_t handled_ = 0;
  Runtime& home_;
};

class Ports final : public Orch {
 public:
  explicit Ports(Runtime& runtime) : Orch(runtime, "ports", Priority::p5) { consume("PORT", this, &Ports::set, &Ports::remove); }
  std::vector<double>& latencies_us() { return latencies_us_; }

 private:
  Outcome set(std::string_view, const Fields& fields) {
    const auto then = Instant::from_nanoseconds(*fields.integer("at", 0, INT64_MAX));
    latencies_us_.push_back(std::chrono::duration<double, std::micro>(clock_.now() - then).count());
    return Outcome::done();
  }
  Outcome remove(std::string_view) { return Outcome::done(); }
  SystemClock clock_;
  std::vector<double> latencies_us_;
};

/// Sends a port event each millisecond through a mailbox, like a notification of the kernel.
class Outside {
 public:
  explicit Outside(Runtime& home)
      : mailbox_("outside", Priority::p7, [table = home.table("PORT"), port = 0](Instant&& at) mutable {
          // A new key each time: merged events would hide how long the first of them waited.
          static_cast<void>(table.set("Ethernet" + std::to_string(port++), {{"at", std::to_string(at.nanoseconds())}}));
        }) {
    home.scheduler().add(mailbox_);
    thread_ = std::thread([this] {
      while (!ends_) {
        std::this_thread::sleep_for(1ms);
        static_cast<void>(mailbox_.post(clock_.now()));
      }
    });
  }
  ~Outside() {
    ends_ = true;
    thread_.join();
  }

 private:
  SystemClock clock_;
  std::atomic<bool> ends_{false};
  Mailbox<Instant> mailbox_;
  std::thread thread_;
};

struct Figures {
  double rows_a_second = 0;
  double overhead_ns = 0;  // CPU time of all threads, without the handler.
  double home_ns = 0;      // The part of it on the home thread (with the handler if it runs there).
  std::size_t events = 0;
  double p50 = 0;
  double p99 = 0;
  double worst = 0;
};

Figures run(Duration cost, std::size_t rows, bool on_worker) {
  Runtime home;
  Ports& ports = home.add<Ports>();
  std::unique_ptr<Worker> worker;
  if (on_worker) worker = std::make_unique<Worker>(home, WorkerOptions{.name = "routes"});
  (worker ? worker->runtime() : home).add<Routes>(cost, rows, home);
  Table table = home.table("ROUTE");
  for (std::size_t i = 0; i < rows; ++i) {
    const std::string key = "10." + std::to_string(i >> 16) + "." + std::to_string((i >> 8) & 255) + "." + std::to_string(i & 255);
    if (!table.set(key, {{"nexthop_group", "102"}, {"weight", "1"}, {"vrf", "default"}}).ok()) std::abort();
  }
  if (worker && !worker->start().ok()) std::abort();

  SystemClock clock;
  const Outside outside(home);
  const double process = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
  const double thread = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
  const Instant start = clock.now();
  home.run();
  const double seconds = std::chrono::duration<double>(clock.now() - start).count();
  const double count = static_cast<double>(rows);
  const double handlers = std::chrono::duration<double>(cost).count() * count;

  Figures figures;
  figures.rows_a_second = count / seconds;
  figures.overhead_ns = (cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - process - handlers) / count * 1e9;
  figures.home_ns = (cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - thread) / count * 1e9;
  if (worker) worker->stop();
  std::vector<double>& latencies = ports.latencies_us();
  std::sort(latencies.begin(), latencies.end());
  figures.events = latencies.size();
  if (!latencies.empty()) {
    figures.p50 = latencies[latencies.size() / 2];
    figures.p99 = latencies[latencies.size() * 99 / 100];
    figures.worst = latencies.back();
  }
  return figures;
}

void print(const char* where, double cost_us, const Figures& f) {
  std::printf("| %5.1f | %-6s | %9.0f | %8.0f | %9.0f | %6zu | %8.1f | %9.1f | %9.1f |\n", cost_us, where, f.rows_a_second, f.overhead_ns,
              f.home_ns, f.events, f.p50, f.p99, f.worst);
}

/// One change at a time through an idle system: from the write to the handler's end, measured by the writer.
double lonely_change_us(bool on_worker) {
  constexpr int kChanges = 5000;
  Runtime home;
  std::unique_ptr<Worker> worker;
  if (on_worker) worker = std::make_unique<Worker>(home, WorkerOptions{.name = "lonely"});
  std::atomic<int> handled{0};
  class Lonely final : public Orch {
   public:
    Lonely(Runtime& runtime, std::atomic<int>& count) : Orch(runtime, "lonely", Priority::p1) {
      consume(
          "ROUTE",
          [&count](std::string_view, const Fields&) {
            count.fetch_add(1);
            count.notify_one();
            return Outcome::done();
          },
          [](std::string_view) { return Outcome::done(); });
    }
  };
  (worker ? worker->runtime() : home).add<Lonely>(handled);
  if (worker && !worker->start().ok()) std::abort();
  SystemClock clock;
  Table table = home.table("ROUTE");
  std::vector<double> us;
  for (int i = 0; i < kChanges; ++i) {
    const Instant start = clock.now();
    if (!table.set(std::to_string(i), {{"a", "1"}}).ok()) std::abort();
    home.run_until_idle();
    handled.wait(i);
    us.push_back(std::chrono::duration<double, std::micro>(clock.now() - start).count());
  }
  if (worker) worker->stop();
  std::nth_element(us.begin(), us.begin() + kChanges / 2, us.end());
  return us[kChanges / 2];
}

/// The ring alone: items of 16 bytes, both sides busy, batches of 128.
void ring_alone() {
  constexpr std::uint64_t kItems = 20'000'000;
  constexpr std::size_t kBatch = 128;
  struct Item {
    std::uint64_t number = 0;
    std::uint64_t other = 0;
  };
  Ring<Item> ring(4096);
  SystemClock clock;
  const Instant start = clock.now();
  std::thread puts([&] {
    for (std::uint64_t next = 0; next < kItems;) {
      std::size_t room = std::min(ring.room(kBatch), kBatch);
      if (room == 0) std::this_thread::yield();
      for (; room > 0 && next < kItems; --room) ring.put({next++, 0});
      static_cast<void>(ring.publish());
    }
  });
  std::uint64_t sum = 0;
  for (std::uint64_t taken = 0; taken < kItems;) {
    std::size_t available = std::min(ring.available(kBatch), kBatch);
    if (available == 0) std::this_thread::yield();
    for (; available > 0; --available, ++taken) sum += ring.take().number;
    static_cast<void>(ring.release(kBatch));
  }
  puts.join();
  if (sum != kItems * (kItems - 1) / 2) std::abort();
  const double seconds = std::chrono::duration<double>(clock.now() - start).count();
  std::printf("The ring alone, batches of %zu: %.1f ns an item from thread to thread.\n", kBatch,
              seconds / static_cast<double>(kItems) * 1e9);
}

int measure(double seconds) {
  std::printf(
      "| handler, us | where | routes a second | CPU beyond the handler, ns a route | home thread, ns a route | port events | p50 us | p99 "
      "us | worst us |\n");
  std::printf("|---:|---|---:|---:|---:|---:|---:|---:|---:|\n");
  for (const double cost_us : {0.0, 1.0, 5.0, 20.0, 100.0}) {
    const auto cost = std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::micro>(cost_us));
    const auto rows = static_cast<std::size_t>(std::clamp(seconds * 1e6 / std::max(cost_us, 0.5), 1000.0, 1'000'000.0));
    print("home", cost_us, run(cost, rows, false));
    print("worker", cost_us, run(cost, rows, true));
  }
  std::printf("\nOne change at a time, idle otherwise, write to handler: %.1f us at home, %.1f us on a worker.\n", lonely_change_us(false),
              lonely_change_us(true));
  ring_alone();
  return 0;
}

}  // namespace
}  // namespace rondo

int main(int count, char** arguments) { return rondo::measure(count > 1 ? std::atof(arguments[1]) : 1.0); }
