// The speed of a Staged table of the embedded store in one thread: writes of new keys, writes that merge with staged ones, pops into an
// empty table, and updates of existing rows. One million keys of three fields each, in key order (as a feed sends them) and in random
// order (every access a cache miss). Prints nanoseconds of CPU and operations a second (best of the rounds), the longest step of 64 writes
// or pops, and the bytes of memory a row. The changes are made inside the timed loops.
//   bench_staged_store [keys] [rounds]
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/random.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/memory_store.h"

namespace {

using namespace rondo;

constexpr const char* kTable = "ROUTE_TABLE";

struct Figure {
  double best_ns = 1e18;
  double longest_ns = 1e18;
};

std::vector<std::string> make_keys(std::size_t count) {
  std::vector<std::string> keys;
  keys.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    keys.push_back(std::to_string(1 + (i >> 16)) + "." + std::to_string((i >> 8) & 255) + "." + std::to_string(i & 255) + ".0/24");
  }
  return keys;
}

/// CPU time of this thread: other processes may share the machine.
double cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

std::size_t heap_bytes() { return ::mallinfo2().uordblks + ::mallinfo2().hblkhd; }

class Bench {
 public:
  Bench(std::size_t keys, std::uint64_t seed) : keys_(make_keys(keys)), order_(keys), random_(seed) {}

  /// Runs one round on a new store.
  void round() {
    store_ = make_memory_store(scheduler_);
    require(store_->declare({.name = kTable}));
    consumer_ = std::move(*store_->subscribe(kTable));
    sort();
    make_and_drop();
    const std::size_t before = heap_bytes();
    write(fresh_, "10.0.0.1");
    staged_bytes_ = heap_bytes() - before;
    write(coalesced_, "10.0.0.2");
    shuffle();
    write(coalesced_random_, "10.0.0.4");
    pop(popped_);
    row_bytes_ = heap_bytes() - before;
    sort();
    write(updated_, "10.0.0.3");
    pop(popped_over_);
    shuffle();
    write_one_field(partial_random_);
    pop(popped_random_);
    consumer_.reset();
    store_.reset();
  }

  void report() const {
    std::printf("%zu keys, 3 fields\n%-52s %9s %12s %12s\n", keys_.size(), "", "ns", "million/s", "longest us");
    line("making and dropping a change, no store", made_);
    line("write of a new key", fresh_);
    line("write that coalesces", coalesced_);
    line("write that coalesces, random order", coalesced_random_);
    line("pop of a new row, 128 at a time", popped_);
    line("write of a key whose row exists", updated_);
    line("pop over an existing row, all its fields rewritten", popped_over_);
    line("write of one field of an existing row, random order", partial_random_);
    line("pop that merges it into the row, random order", popped_random_);
    const auto rows = static_cast<double>(keys_.size());
    std::printf("bytes a staged key %.0f, bytes a row %.0f\n", static_cast<double>(staged_bytes_) / rows,
                static_cast<double>(row_bytes_) / rows);
  }

 private:
  static void require(const Status& status) {
    if (status.ok()) return;
    std::fprintf(stderr, "%s\n", status.to_string().c_str());
    std::exit(1);
  }

  static void line(const char* what, const Figure& figure) {
    std::printf("%-52s %9.0f %12.2f %12.0f\n", what, figure.best_ns, 1e3 / figure.best_ns, figure.longest_ns / 1e3);
  }

  void sort() { std::iota(order_.begin(), order_.end(), std::size_t{0}); }
  void shuffle() {
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random_.below(i)]);
  }

  /// Calls 'work(i)' for each i below 'count'; measures the longest step of 64 calls, so that reading the clock does not count.
  template <class Work>
  void timed(Figure& figure, std::size_t count, Work&& work) {
    const double start = cpu_ns();
    double step_start = start;
    double longest = 0;
    for (std::size_t i = 0; i < count; ++i) {
      work(i);
      if (i % 64 == 63) {
        const double now = cpu_ns();
        longest = std::max(longest, now - step_start);
        step_start = now;
      }
    }
    figure.best_ns = std::min(figure.best_ns, (cpu_ns() - start) / static_cast<double>(keys_.size()));
    figure.longest_ns = std::min(figure.longest_ns, longest);
  }

  Change route(std::size_t i, std::string_view nexthop) const {
    return Change::set(keys_[order_[i]], {{"nexthop", nexthop}, {"ifname", "Ethernet0"}, {"protocol", "bgp"}});
  }

  void make_and_drop() {
    std::size_t fields = 0;
    timed(made_, keys_.size(), [&](std::size_t i) { fields += route(i, "10.0.0.1").fields().size(); });
    require(fields == 3 * keys_.size() ? Status{} : Status{StatusCode::Internal, "a change lost a field"});
  }

  void write(Figure& figure, std::string_view nexthop) {
    timed(figure, keys_.size(), [&](std::size_t i) { require(store_->write(kTable, route(i, nexthop))); });
  }

  void write_one_field(Figure& figure) {
    timed(figure, keys_.size(), [&](std::size_t i) {
      require(store_->write(kTable, Change::set(keys_[order_[i]], {{"nexthop", "::1"}})));
    });
  }

  void pop(Figure& figure) {
    std::vector<Change> changes;
    std::size_t popped = 0;
    timed(figure, (keys_.size() + 127) / 128, [&](std::size_t) {
      changes.clear();
      popped += consumer_->take(128, changes);
    });
    require(popped == keys_.size() && consumer_->empty() ? Status{} : Status{StatusCode::Internal, "popped " + std::to_string(popped)});
  }

  SystemClock clock_;
  std::unique_ptr<Reactor> reactor_ = *make_epoll_reactor();
  Scheduler scheduler_{clock_, *reactor_, *make_policy(StrictPriority{})};
  std::vector<std::string> keys_;
  std::vector<std::size_t> order_;
  Random random_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Subscription> consumer_;
  Figure made_, fresh_, coalesced_, coalesced_random_, popped_, updated_, popped_over_, partial_random_, popped_random_;
  std::size_t staged_bytes_ = 0;
  std::size_t row_bytes_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::size_t keys = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1'000'000;
  const std::size_t rounds = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 5;
  Bench bench(keys, 1);
  for (std::size_t i = 0; i < rounds; ++i) bench.round();
  bench.report();
  return 0;
}
