// The cost of waiting: rows parked on a fact, their resumption, and the path of a change that need not wait. Prints one table; each line
// shows its bound, if it has one (SONiC's RetryCache, "Test": 484 ms of retry stage for 40,000 parked routes before, 6 ms after).
//   bench_parking [rows [parts]]     default: 800,000 parked rows (and a quarter more changes) and all parts, "abc"; best of three runs
//   each
// Prints minima, because noise of the machine only adds time. The longest turn is in processor time, because an interruption of 4 ms by
// another process does not count as ours.
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "orch/fact_index.h"
#include "orch/ledger.h"
#include "orch/parked.h"
#include "rondo/base/limits.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/runtime.h"

// Counts every allocation of the process, including those of Record, which does not use operator new.
extern "C" void* __libc_malloc(std::size_t size);  // NOLINT: glibc's name for it.
namespace {
std::uint64_t g_allocations = 0;
}
extern "C" void* malloc(std::size_t size) {  // NOLINT: replaces the library's.
  ++g_allocations;
  return __libc_malloc(size);
}

namespace {

using namespace rondo;
using SteadyClock = std::chrono::steady_clock;

constexpr FactKind kGroup{"nexthop-group"};
constexpr int kRuns = 3;

double nanoseconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double, std::nano>(SteadyClock::now() - start).count();
}

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "bench_parking: %s\n", what);
  std::exit(1);
}

void line(const char* what, double value, const char* unit, double bound = 0) {
  std::printf("  %-66s %12.2f %-6s", what, value, unit);
  if (bound > 0) std::printf("  bound %8.0f  %s", bound, value < bound ? "ok" : "OVER");
  std::printf("\n");
  std::fflush(stdout);
}

/// Makes the keys before any measurement.
std::vector<std::string> make_keys(std::size_t count) {
  std::vector<std::string> keys;
  keys.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    keys.push_back(std::to_string(i >> 16) + "." + std::to_string((i >> 8) & 255) + "." + std::to_string(i & 255) + ".0/24");
  }
  return keys;
}

class Groups final : public Orch {
 public:
  explicit Groups(Runtime& runtime) : Orch(runtime, "groups", Priority::p5) {
    provide(kGroup, [this](std::string_view) { return exists_; });
    consume(
        "OTHER", [](std::string_view, const Fields&) { return Outcome::done(); }, [](std::string_view) { return Outcome::done(); });
  }
  void make() {
    exists_ = true;
    announce({kGroup, "102"});
  }

 private:
  bool exists_ = false;
};

class Routes final : public Orch {
 public:
  explicit Routes(Runtime& runtime) : Orch(runtime, "routes", Priority::p1) { consume("ROUTE", this, &Routes::set, &Routes::remove); }
  std::uint64_t installed = 0;
  SteadyClock::time_point first_installed;

 private:
  Outcome set(std::string_view, const Fields& fields) {
    const Fact needed{kGroup, std::string{fields[0].value}};
    if (!holds(needed)) return Outcome::wait_for(needed);
    if (installed++ == 0) first_installed = SteadyClock::now();
    return Outcome::done();
  }
  Outcome remove(std::string_view) { return Outcome::done(); }
};

class Ports final : public Orch {
 public:
  explicit Ports(Runtime& runtime) : Orch(runtime, "ports", Priority{40}) { consume("PORT", this, &Ports::set, &Ports::remove); }
  SteadyClock::time_point sent;
  double worst_ns = 0;
  std::uint64_t events = 0;

 private:
  Outcome set(std::string_view, const Fields&) {
    worst_ns = std::max(worst_ns, nanoseconds_since(sent));
    ++events;
    return Outcome::done();
  }
  Outcome remove(std::string_view) { return Outcome::done(); }
};

double processor_us() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

/// Runs one turn; returns false if no source is ready. 'longest' is in processor time.
bool timed_turn(Runtime& runtime, double& longest_us) {
  const double start = processor_us();
  const bool given = runtime.scheduler().turn();
  longest_us = std::max(longest_us, processor_us() - start);
  return given;
}

/// Runs until no source is ready; returns the longest turn.
double run_all_us(Runtime& runtime) {
  double longest = 0;
  while (timed_turn(runtime, longest)) {
  }
  return longest;
}

std::size_t bytes_in_use() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

void write_all(Runtime& runtime, const std::vector<std::string>& keys, std::size_t count) {
  Table routes = runtime.table("ROUTE");
  for (std::size_t i = 0; i < count; ++i) require(routes.set(keys[i], {{"nexthop_group", "102"}}).ok(), "a write was refused");
}

// --- (a) what parked rows cost the others

double turn_of_another_table_ns(const std::vector<std::string>& keys, std::size_t parked) {
  Runtime runtime;
  runtime.add<Groups>();
  runtime.add<Routes>();
  write_all(runtime, keys, parked);
  runtime.run_until_idle();
  Table other = runtime.table("OTHER");
  double best = std::numeric_limits<double>::max();
  for (int run = 0; run < 20; ++run) {
    constexpr int kTurns = 2000;
    const auto start = SteadyClock::now();
    for (int i = 0; i < kTurns; ++i) {
      require(other.set("k", {{"f", "v"}}).ok(), "a write was refused");
      runtime.run_until_idle();
    }
    best = std::min(best, nanoseconds_since(start) / kTurns);
  }
  return best;
}

// --- (b) many rows on one fact

struct Parking {
  double park_path_ns = std::numeric_limits<double>::max();
  double bytes_ledger = 0;
  double bytes_malloc = 0;
  double announce_to_first_us = std::numeric_limits<double>::max();
  double announce_us = std::numeric_limits<double>::max();
  double resolve_path_ns = std::numeric_limits<double>::max();
  double longest_parking_turn_us = std::numeric_limits<double>::max();
  double longest_retry_turn_us = std::numeric_limits<double>::max();
  double port_worst_us = std::numeric_limits<double>::max();
  double allocations = 0;
};

void park_and_resolve(const std::vector<std::string>& keys, std::size_t rows, Parking& best) {
  Runtime runtime;
  Groups& groups = runtime.add<Groups>();
  Routes& routes = runtime.add<Routes>();
  Ports& ports = runtime.add<Ports>();
  Table port = runtime.table("PORT");
  write_all(runtime, keys, rows);

  const std::size_t bytes_before = bytes_in_use();
  const std::uint64_t allocations_before = g_allocations;
  const auto parking = SteadyClock::now();
  const double longest_parking = run_all_us(runtime);
  best.park_path_ns = std::min(best.park_path_ns, nanoseconds_since(parking) / static_cast<double>(rows));
  best.allocations = static_cast<double>(g_allocations - allocations_before) / static_cast<double>(rows);
  best.bytes_malloc = static_cast<double>(bytes_in_use() - bytes_before) / static_cast<double>(rows);
  best.longest_parking_turn_us = std::min(best.longest_parking_turn_us, longest_parking);
  require(parked_facts(runtime, 1).at(0).rows == rows, "not all rows are parked");

  const auto announced = SteadyClock::now();
  groups.make();
  best.announce_us = std::min(best.announce_us, nanoseconds_since(announced) / 1000);
  double longest_turn = 0;
  for (bool more = true; more;) {
    ports.sent = SteadyClock::now();
    require(port.set("Ethernet0", {{"oper_status", "up"}}).ok(), "a write was refused");
    runtime.scheduler().turn();  // The port's turn, because it is more urgent.
    more = timed_turn(runtime, longest_turn);
  }
  best.resolve_path_ns = std::min(best.resolve_path_ns, nanoseconds_since(announced) / static_cast<double>(rows));
  require(routes.installed == rows, "not all rows came back");
  require(ports.events > rows / limits::kBatchItems, "the ports were starved");
  const double first = std::chrono::duration<double, std::micro>(routes.first_installed - announced).count();
  best.announce_to_first_us = std::min(best.announce_to_first_us, first);
  best.longest_retry_turn_us = std::min(best.longest_retry_turn_us, longest_turn);
  best.port_worst_us = std::min(best.port_worst_us, ports.worst_ns / 1000);
}

/// The same rows when the fact holds from the start: the cost of the path without parking.
double done_path_ns(const std::vector<std::string>& keys, std::size_t rows) {
  Runtime runtime;
  runtime.add<Groups>().make();
  Routes& routes = runtime.add<Routes>();
  write_all(runtime, keys, rows);
  const auto start = SteadyClock::now();
  run_all_us(runtime);
  require(routes.installed == rows, "not all rows were done");
  return nanoseconds_since(start) / static_cast<double>(rows);
}

/// The ledger alone: rows in flight are parked on one fact.
void park_in_ledger(const std::vector<std::string>& keys, std::size_t rows, double& park_ns, double& take_ns, double& bytes) {
  FactIndex index;
  const Instant now;
  TimerWheel wheel{now};
  Ledger ledger{wheel, [] {}};
  for (std::size_t i = 0; i < rows; ++i) ledger.merge(Change::set(keys[i], {}), now, index);
  std::vector<std::uint32_t> taken;
  taken.reserve(rows);
  const auto taking = SteadyClock::now();
  while (const auto task = ledger.take_new()) taken.push_back(task->row);
  take_ns = std::min(take_ns, nanoseconds_since(taking) / static_cast<double>(rows));
  const Fact fact{kGroup, "102"};
  const auto parking = SteadyClock::now();
  for (const std::uint32_t row : taken) ledger.park(row, {&fact, 1}, 0, now, index);
  park_ns = std::min(park_ns, nanoseconds_since(parking) / static_cast<double>(rows));
  require(ledger.parked() == rows, "not all rows are parked");
  bytes = static_cast<double>(ledger.bytes()) / static_cast<double>(rows);
  index.forget_ledger(ledger);
}

// --- (c) the path of a change that need not wait

class Sink final : public Orch {
 public:
  Sink(Runtime& runtime, bool in_batches) : Orch(runtime, "sink", Priority::p1) {
    if (in_batches) {
      consume_batches("ROUTE", [this](Batch& batch) {
        for (std::size_t i = 0; i < batch.size(); ++i) batch.done(i);
        handled += batch.size();
      });
    } else {
      consume("ROUTE", this, &Sink::set, &Sink::remove);
    }
  }
  std::uint64_t handled = 0;

 private:
  Outcome set(std::string_view, const Fields&) {
    ++handled;
    return Outcome::done();
  }
  Outcome remove(std::string_view) { return Outcome::done(); }
};

struct Path {
  double write_ns = std::numeric_limits<double>::max();
  double consume_ns = std::numeric_limits<double>::max();
  double write_allocations = 0;
  double consume_allocations = 0;
  double longest_turn_us = std::numeric_limits<double>::max();
};

/// Writes all keys, then handles all. Then writes and handles all again, so that stores and ledgers are warm.
void pass_through(const std::vector<std::string>& keys, std::size_t rows, bool in_batches, Path& cold, Path& warm) {
  Runtime runtime;
  Sink& sink = runtime.add<Sink>(in_batches);
  for (Path* path : {&cold, &warm}) {
    std::uint64_t allocations = g_allocations;
    auto start = SteadyClock::now();
    write_all(runtime, keys, rows);
    path->write_ns = std::min(path->write_ns, nanoseconds_since(start) / static_cast<double>(rows));
    path->write_allocations = static_cast<double>(g_allocations - allocations) / static_cast<double>(rows);
    allocations = g_allocations;
    start = SteadyClock::now();
    path->longest_turn_us = std::min(path->longest_turn_us, run_all_us(runtime));
    path->consume_ns = std::min(path->consume_ns, nanoseconds_since(start) / static_cast<double>(rows));
    path->consume_allocations = static_cast<double>(g_allocations - allocations) / static_cast<double>(rows);
  }
  require(sink.handled == 2 * rows, "not all rows were handled");
}

void print_path(const char* name, const Path& path) {
  std::printf(" %s\n", name);
  line("table.set: a change written", path.write_ns, "ns");
  line("  its allocations", path.write_allocations, "");
  line("popped, merged, handled, settled", path.consume_ns, "ns");
  line("  its allocations", path.consume_allocations, "");
  line("longest turn", path.longest_turn_us, "us", 5000);
}

void measure_others(const std::vector<std::string>& keys) {
  std::printf("(a) 40,000 rows parked on a fact that does not hold\n");
  double none = std::numeric_limits<double>::max();
  double parked = none;
  for (int run = 0; run < kRuns; ++run) {
    none = std::min(none, turn_of_another_table_ns(keys, 0));
    parked = std::min(parked, turn_of_another_table_ns(keys, 40'000));
  }
  line("write and turn of another table, none parked", none, "ns");
  line("the same with 40,000 parked", parked, "ns");
  line("difference", std::max(0.0, parked - none), "ns", 10'000);
}

void measure_parking(const std::vector<std::string>& keys, std::size_t rows) {
  std::printf("(b) %zu rows parked on one fact\n", rows);
  double park_ns = std::numeric_limits<double>::max();
  double take_ns = park_ns;
  double bytes = 0;
  for (int run = 0; run < kRuns; ++run) park_in_ledger(keys, rows, park_ns, take_ns, bytes);
  Parking parking;
  double done_ns = std::numeric_limits<double>::max();
  for (int run = 0; run < kRuns; ++run) {
    park_and_resolve(keys, rows, parking);
    done_ns = std::min(done_ns, done_path_ns(keys, rows));
  }
  line("Ledger::take_new alone", take_ns, "ns");
  line("Ledger::park alone", park_ns, "ns", 150);
  line("popped, merged, handler's look, parked: the whole path", parking.park_path_ns, "ns");
  line("  its allocations", parking.allocations, "");
  line("the whole path of the same rows when nothing is missing", done_ns, "ns");
  line("what parking adds to it", parking.park_path_ns - done_ns, "ns", 150);
  line("bytes a parked row beyond its change (the ledger's account)", bytes, "B", 200);
  line("bytes a parked row beyond its change (malloc's account)", parking.bytes_malloc, "B", 200);
  line("longest turn while parking", parking.longest_parking_turn_us, "us", 5000);
  line("announce()", parking.announce_us, "us");
  line("from the announcement to the first retried row's handler", parking.announce_to_first_us, "us", 1000);
  line("resolved, handler's look, settled (and port events): a row", parking.resolve_path_ns, "ns");
  line("longest turn while retrying", parking.longest_retry_turn_us, "us", 5000);
  line("longest wait of a port event meanwhile", parking.port_worst_us, "us", 5000);
}

void measure_path(const std::vector<std::string>& keys, std::size_t changes) {
  std::printf("(c) %zu changes of distinct keys that need not wait\n", changes);
  for (const bool in_batches : {false, true}) {
    Path cold;
    Path warm;
    for (int run = 0; run < kRuns; ++run) pass_through(keys, changes, in_batches, cold, warm);
    print_path(in_batches ? "batch handler, new keys" : "single handler, new keys", cold);
    print_path(in_batches ? "batch handler, known keys" : "single handler, known keys", warm);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 800'000;
  const std::string parts = argc > 2 ? argv[2] : "abc";
  require(rows >= 1000, "rows: at least 1000");
  const std::vector<std::string> keys = make_keys(std::max<std::size_t>(rows + rows / 4, 40'000));
  if (parts.find('a') != std::string::npos) measure_others(keys);
  if (parts.find('b') != std::string::npos) measure_parking(keys, rows);
  if (parts.find('c') != std::string::npos) measure_path(keys, rows + rows / 4);
  return 0;
}
