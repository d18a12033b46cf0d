// The cost of a row that is done only while a fact holds (Outcome::done_while), and the cost of the end of the fact. Prints one table;
// each line shows its bound, if it has one. Minima of three runs, because noise of the machine only adds time.
//   bench_bound_rows [rows]     default: 800,000 rows behind one fact
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "orch/runtime_view.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/runtime.h"

namespace {

using namespace rondo;
using SteadyClock = std::chrono::steady_clock;

constexpr FactKind kGroup{"nexthop-group"};
constexpr int kRuns = 3;
constexpr double kWorst = std::numeric_limits<double>::max();

double nanoseconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double, std::nano>(SteadyClock::now() - start).count();
}

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "bench_bound_rows: %s\n", what);
  std::exit(1);
}

void line(const char* what, double value, const char* unit, double bound = 0) {
  std::printf("  %-62s %12.2f %-3s", what, value, unit);
  if (bound > 0) std::printf("  bound %6.0f  %s", bound, value < bound ? "ok" : "OVER");
  std::printf("\n");
}

class Groups final : public Orch {
 public:
  explicit Groups(Runtime& runtime) : Orch(runtime, "groups", Priority::p5) {
    provide(kGroup, [this](std::string_view) { return exists_; });
  }
  void begin() {
    exists_ = true;
    announce({kGroup, "102"});
  }
  void end() {
    exists_ = false;
    withdraw({kGroup, "102"});
  }

 private:
  bool exists_ = false;
};

class Routes final : public Orch {
 public:
  explicit Routes(Runtime& runtime) : Orch(runtime, "routes", Priority::p1) {
    consumer_ = consume("ROUTE", this, &Routes::set, &Routes::remove);
  }
  /// True: routes are done while their group exists. False: done permanently.
  bool binds = true;
  std::uint64_t withdrawn = 0;
  SteadyClock::time_point first_withdrawn;

  void handle_again(std::string_view key) { requeue(consumer_, key); }

 private:
  Outcome set(std::string_view, const Fields& fields) {
    Fact needed{kGroup, std::string{fields[0].value}};
    if (holds(needed)) return binds ? Outcome::done_while(std::move(needed)) : Outcome::done();
    if (withdrawn++ == 0) first_withdrawn = SteadyClock::now();
    return Outcome::done();
  }
  Outcome remove(std::string_view) { return Outcome::done(); }
  ConsumerHandle consumer_;
};

class Ports final : public Orch {
 public:
  explicit Ports(Runtime& runtime) : Orch(runtime, "ports", Priority{40}) { consume("PORT", this, &Ports::set, &Ports::remove); }
  SteadyClock::time_point sent;
  double worst_ns = 0;

 private:
  Outcome set(std::string_view, const Fields&) {
    worst_ns = std::max(worst_ns, nanoseconds_since(sent));
    return Outcome::done();
  }
  Outcome remove(std::string_view) { return Outcome::done(); }
};

struct Figures {
  double bind_ns = kWorst;
  double done_ns = kWorst;
  double bytes_ledger = 0;
  double bytes_malloc = 0;
  double end_us = kWorst;
  double first_us = kWorst;
  double again_ns = kWorst;
  double port_worst_us = kWorst;
  double requeue_bound_ns = kWorst;
  double requeue_done_ns = kWorst;
};

/// Writes and handles all rows; returns nanoseconds a row of the handling.
double write_and_handle(Runtime& runtime, const std::vector<std::string>& keys) {
  Table routes = runtime.table("ROUTE");
  for (const std::string& key : keys) require(routes.set(key, {{"nexthop_group", "102"}}).ok(), "a write was refused");
  const auto start = SteadyClock::now();
  runtime.run_until_idle();
  return nanoseconds_since(start) / static_cast<double>(keys.size());
}

std::size_t bytes_in_use() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

/// Ends the fact, with the event of a port before every turn.
void end_fact(Runtime& runtime, Groups& groups, Routes& routes, Ports& ports, std::size_t rows, Figures& best) {
  Table port = runtime.table("PORT");
  const auto ended = SteadyClock::now();
  groups.end();
  best.end_us = std::min(best.end_us, nanoseconds_since(ended) / 1000);
  for (bool more = true; more;) {
    ports.sent = SteadyClock::now();
    require(port.set("Ethernet0", {{"oper_status", "up"}}).ok(), "a write was refused");
    runtime.scheduler().turn();  // The port's turn, because it is more urgent.
    more = runtime.scheduler().turn();
  }
  best.again_ns = std::min(best.again_ns, nanoseconds_since(ended) / static_cast<double>(rows));
  require(routes.withdrawn == rows, "not all rows were handled again");
  best.first_us = std::min(best.first_us, std::chrono::duration<double, std::micro>(routes.first_withdrawn - ended).count());
  best.port_worst_us = std::min(best.port_worst_us, ports.worst_ns / 1000);
}

double requeue_all_ns(Runtime& runtime, Routes& routes, const std::vector<std::string>& keys) {
  const auto start = SteadyClock::now();
  for (const std::string& key : keys) routes.handle_again(key);
  const double ns = nanoseconds_since(start) / static_cast<double>(keys.size());
  runtime.run_until_idle();
  return ns;
}

void measure(const std::vector<std::string>& keys, Figures& best) {
  const auto rows = static_cast<double>(keys.size());
  Runtime runtime;
  Groups& groups = runtime.add<Groups>();
  Routes& routes = runtime.add<Routes>();
  Ports& ports = runtime.add<Ports>();
  groups.begin();
  routes.binds = false;
  best.done_ns = std::min({best.done_ns, write_and_handle(runtime, keys), write_and_handle(runtime, keys)});
  best.requeue_done_ns = std::min(best.requeue_done_ns, requeue_all_ns(runtime, routes, keys));
  routes.binds = true;
  const std::size_t before = bytes_in_use();
  best.bind_ns = std::min(best.bind_ns, write_and_handle(runtime, keys));
  const BoundRows& bound = RuntimeView(runtime).consumers().find("ROUTE")->second->ledger().bound();
  require(bound.size() == keys.size(), "not all rows are bound");
  best.bytes_ledger = static_cast<double>(bound.bytes()) / rows;
  best.bytes_malloc = (static_cast<double>(bytes_in_use()) - static_cast<double>(before)) / rows;
  best.requeue_bound_ns = std::min(best.requeue_bound_ns, requeue_all_ns(runtime, routes, keys));
  require(bound.size() == keys.size(), "a row that was handled again is not bound");
  end_fact(runtime, groups, routes, ports, keys.size(), best);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 800'000;
  require(rows >= 1000, "rows: at least 1000");
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < rows; ++i) {
    keys.push_back(std::to_string(i >> 16) + "." + std::to_string((i >> 8) & 255) + "." + std::to_string(i & 255) + ".0/24");
  }
  Figures best;
  for (int run = 0; run < kRuns; ++run) measure(keys, best);
  std::printf("%zu rows that are done while one fact holds\n", rows);
  line("popped, merged, handled, done: the whole path of a row", best.done_ns, "ns");
  line("the same with done_while", best.bind_ns, "ns");
  line("bytes a bound row beyond its record (the ledger's account)", best.bytes_ledger, "B", 40);
  line("bytes a bound row beyond its record (malloc's account)", best.bytes_malloc, "B");
  line("requeue() of a row that is done", best.requeue_done_ns, "ns", 150);
  line("requeue() of a row that is done while a fact holds", best.requeue_bound_ns, "ns", 150);
  line("withdraw()", best.end_us, "us");
  line("from the withdrawal to the first row's handler", best.first_us, "us", 1000);
  line("handled again (and port events): a row", best.again_ns, "ns");
  line("longest wait of a port event meanwhile", best.port_worst_us, "us", 5000);
  return 0;
}
