// The cost of an absent Redis for others: a source of the same scheduler that does not need it, woken every 200 us. About three minutes
// each for killed and stopped.
//   bench_redis_absence [killed|stopped|both] [blocks]     default: both, 60
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "redis_side.h"
#include "rondo/sched/source.h"
#include "store/redis/testing/server.h"

namespace {

using namespace rondo;
using bench::require;
using bench::Side;
using bench::thread_us;
using bench::wall_us;
using redis_kit::RedisServer;

/// Woken by another thread; measures the delay of its turn.
class Bell final : public Source {
 public:
  Bell() : Source("bell", Priority::p7) {}
  /// Returns when the turn has come: a ring during another one's wait would be lost, and change what that one measures.
  void ring() {
    heard_ = false;
    rung_us_ = wall_us();
    wake_from_any_thread();
    heard_.wait(false);
  }
  Turn run(const Budget&) override {
    waited_us.push_back(wall_us() - rung_us_);
    heard_ = true;
    heard_.notify_one();
    return {.items = 1, .backlog = Backlog::Empty};
  }
  std::vector<double> waited_us;

 private:
  std::atomic<double> rung_us_{0};
  std::atomic<bool> heard_{false};
};

/// The delays of the turns of a source on this side, woken every 200 us.
std::vector<double> bell_waits(Side& side, std::size_t rings) {
  Bell bell;
  bell.waited_us.reserve(rings);
  side.scheduler.add(bell);
  std::thread ringer{[&] {
    for (std::size_t i = 0; i < rings; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds{200});
      bell.ring();
    }
  }};
  require(side.run_until([&] { return bell.waited_us.size() == rings; }), "the bell is not heard");
  ringer.join();
  side.scheduler.remove(bell);
  return std::move(bell.waited_us);
}

double percentile(std::vector<double>& values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(static_cast<double>(values.size() - 1) * share)];
}

/// The CPU share of the store's thread while nothing else happens, in percent.
double idle_cpu(Side& side) {
  const double cpu = thread_us();
  const double wall = wall_us();
  const Instant end = side.clock.now() + 5s;
  side.run_until([&] { return side.clock.now() >= end; });
  return (thread_us() - cpu) / (wall_us() - wall) * 100;
}

struct Difference {
  double percent = 0;
  /// Twice the standard error.
  double error = 0;
};

/// The difference of one series from another in percent, block by block: the median. A mean would depend on a block in which the machine
/// stalled.
Difference difference(const std::vector<double>& of, std::vector<double> from) {
  std::vector<double> each;
  for (std::size_t i = 0; i < of.size(); ++i) each.push_back(of[i] - from[i]);
  const double usual = percentile(from, 0.5);
  // The standard error of a median is 1.25 times that of a mean; the middle half of the values is 1.35 standard deviations wide.
  const double deviation = (percentile(each, 0.75) - percentile(each, 0.25)) / 1.35;
  const double error = 1.25 * deviation / std::sqrt(static_cast<double>(each.size()));
  return {.percent = percentile(each, 0.5) / usual * 100, .error = 2 * error / usual * 100};
}

/// Two stores with running servers and one without, alternating every twentieth of a second, so that other load on the machine affects all
/// three. The delays of a source beside each store are collected in blocks of some seconds. For each block the p99 is compared with that
/// of the first store. Prints the median of these differences with twice its standard error. The second store does not differ from the
/// first, so its difference shows the precision of the measurement.
void absence(const char* what, int blocks, const std::function<void(RedisServer&)>& go) {
  constexpr int kWindows = 12;
  constexpr std::size_t kRings = 250;
  RedisServer there;
  RedisServer also_there;
  RedisServer gone;
  Side first{there.address()};
  Side second{also_there.address()};
  Side without{gone.address()};
  std::array<Side*, 3> sides{&first, &second, &without};
  std::vector<std::unique_ptr<Subscription>> subscriptions;
  for (Side* side : sides) subscriptions.push_back(side->store.subscribe("ROUTE_TABLE").value());
  go(gone);
  require(without.store.write("ROUTE_TABLE", Change::set("k", {{"n", "1"}})).ok(), "write");
  require(without.run_until([&] { return !without.store.health().ok(); }), "nobody noticed");
  const double cpu = idle_cpu(without);
  std::array<std::vector<double>, 3> p99;
  for (int block = 0; block < blocks; ++block) {
    std::array<std::vector<double>, 3> waits;
    for (int window = 0; window < kWindows; ++window) {
      for (std::size_t turn = 0; turn < sides.size(); ++turn) {
        const std::size_t side = (turn + static_cast<std::size_t>(window)) % sides.size();
        const std::vector<double> waited = bell_waits(*sides[side], kRings);
        waits[side].insert(waits[side].end(), waited.begin(), waited.end());
      }
    }
    for (std::size_t side = 0; side < sides.size(); ++side) p99[side].push_back(percentile(waits[side], 0.99));
  }
  const Difference same = difference(p99[1], p99[0]);
  const Difference absent = difference(p99[2], p99[0]);
  std::printf(
      "server %s: another source waits for its turn, p99 %.1f us with it; without it %+.1f %% (+- %.1f; wanted below 5), beside another "
      "that is "
      "there %+.1f %% (+- %.1f); CPU %.2f %% (wanted 1)\n",
      what, percentile(p99[0], 0.5), absent.percent, absent.error, same.percent, same.error, cpu);
  std::fflush(stdout);
}

void absences(std::string_view which, int blocks) {
  if (which != "stopped") absence("killed", blocks, [](RedisServer& server) { server.kill9(); });
  if (which != "killed") absence("stopped (SIGSTOP)", blocks, [](RedisServer& server) { server.freeze(); });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view which = argc > 1 ? argv[1] : "both";
  const int blocks = argc > 2 ? std::atoi(argv[2]) : 60;
  require(which == "both" || which == "killed" || which == "stopped", "the first argument is killed, stopped or both");
  require(blocks > 0, "the number of blocks must be positive");
  require(!redis_kit::server_program().empty(), "no redis-server: install Debian's package redis-tools");
  absences(which, blocks);
  return 0;
}
