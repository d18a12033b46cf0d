// Timers: insert, cancel and fire of the wheel with one million, compared with two peers in the same run: a 4-ary heap with back pointers
// (which can cancel) and std::priority_queue (which cannot: it marks and skips). Due times are random over a minute; half of the timers
// are cancelled in random order, and the rest fires. The nodes of all three are the same objects in the same order. Processor time, best
// of several rounds. Plain main, because a run has phases.
//   bench_timer_wheel [timers] [rounds]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <queue>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/base/random.h"
#include "rondo/sched/timer.h"

namespace {

using namespace rondo;

std::uint64_t fired_total = 0;

/// Processor time of this thread: other processes do not count (except that they evict our caches).
Instant spent() {
  timespec ts{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
  return Instant::from_nanoseconds(static_cast<std::int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec);
}

class BenchTimer final : public TimerNode {
 public:
  Instant when;
  std::uint32_t place = 0;  // Its index in the heap.
  bool cancelled = false;   // For the queue, which cannot cancel.
  void fire() { on_due(); }

 private:
  void on_due() override { ++fired_total; }
};

struct Cost {
  double insert = 0;
  double cancel = 0;
  double fire = 0;
};

/// A heap with four children a node, keys beside the pointers, and each timer storing its index.
class FourAryHeap {
 public:
  bool empty() const { return entries_.empty(); }
  Instant first() const { return entries_.front().when; }
  void insert(BenchTimer& timer) {
    entries_.push_back({timer.when, &timer});
    up(entries_.size() - 1);
  }
  void erase(BenchTimer& timer) { erase_at(timer.place); }
  BenchTimer& pop() {
    BenchTimer& timer = *entries_.front().timer;
    erase_at(0);
    return timer;
  }

 private:
  struct Entry {
    Instant when;
    BenchTimer* timer;
  };
  void put(std::size_t at, Entry entry) {
    entries_[at] = entry;
    entry.timer->place = static_cast<std::uint32_t>(at);
  }
  void erase_at(std::size_t at) {
    const Entry last = entries_.back();
    entries_.pop_back();
    if (at == entries_.size()) return;
    put(at, last);
    down(at);
    up(at);
  }
  void up(std::size_t at) {
    const Entry entry = entries_[at];
    while (at > 0 && entry.when < entries_[(at - 1) / 4].when) {
      put(at, entries_[(at - 1) / 4]);
      at = (at - 1) / 4;
    }
    put(at, entry);
  }
  void down(std::size_t at) {
    const Entry entry = entries_[at];
    for (std::size_t child = 4 * at + 1; child < entries_.size(); child = 4 * at + 1) {
      const std::size_t end = std::min(child + 4, entries_.size());
      std::size_t least = child;
      for (std::size_t other = child + 1; other < end; ++other) {
        if (entries_[other].when < entries_[least].when) least = other;
      }
      if (entries_[least].when >= entry.when) break;
      put(at, entries_[least]);
      at = least;
    }
    put(at, entry);
  }
  std::vector<Entry> entries_;
};

class Workload {
 public:
  Workload(std::size_t count, std::uint64_t seed) : timers_(count) {
    Random random(seed);
    order_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      timers_[i].when = start_ + 1ms + Duration{static_cast<std::int64_t>(random.below(60'000'000'000))};
      order_[i] = static_cast<std::uint32_t>(i);
    }
    for (std::size_t i = count; i > 1; --i) std::swap(order_[i - 1], order_[random.below(i)]);
  }

  Cost wheel() {
    TimerWheel wheel(start_);
    Cost cost;
    cost.insert = measure(timers_.size(), [&] {
      for (BenchTimer& timer : timers_) wheel.insert(timer, timer.when);
    });
    cost.cancel = measure(half(), [&] {
      for (std::size_t i = 0; i < half(); ++i) wheel.cancel(timers_[order_[i]]);
    });
    cost.fire = measure(timers_.size() - half(), [&] {
      // As the scheduler does: batch by batch, tick by tick.
      for (Instant now = wheel.next_expiry(); now != Instant::never(); now = std::max(now, wheel.next_expiry())) {
        wheel.expire(now, limits::kTimersPerTurn);
        if (wheel.size() == 0) break;
      }
    });
    return cost;
  }

  Cost heap() {
    FourAryHeap heap;
    Cost cost;
    cost.insert = measure(timers_.size(), [&] {
      for (BenchTimer& timer : timers_) heap.insert(timer);
    });
    cost.cancel = measure(half(), [&] {
      for (std::size_t i = 0; i < half(); ++i) heap.erase(timers_[order_[i]]);
    });
    cost.fire = measure(timers_.size() - half(), [&] {
      while (!heap.empty()) heap.pop().fire();
    });
    return cost;
  }

  Cost queue() {
    const auto later = [](const BenchTimer* a, const BenchTimer* b) { return a->when > b->when; };
    std::priority_queue<BenchTimer*, std::vector<BenchTimer*>, decltype(later)> queue(later);
    for (BenchTimer& timer : timers_) timer.cancelled = false;
    Cost cost;
    cost.insert = measure(timers_.size(), [&] {
      for (BenchTimer& timer : timers_) queue.push(&timer);
    });
    cost.cancel = measure(half(), [&] {
      for (std::size_t i = 0; i < half(); ++i) timers_[order_[i]].cancelled = true;
    });
    cost.fire = measure(timers_.size() - half(), [&] {
      for (; !queue.empty(); queue.pop()) {
        if (!queue.top()->cancelled) queue.top()->fire();
      }
    });
    return cost;
  }

 private:
  std::size_t half() const { return timers_.size() / 2; }
  template <class Work>
  static double measure(std::size_t operations, Work work) {
    const Instant begin = spent();
    work();
    return static_cast<double>((spent() - begin).count()) / static_cast<double>(operations);
  }

  Instant start_ = Instant::from_nanoseconds(1'000'000'000'000);
  std::vector<BenchTimer> timers_;
  std::vector<std::uint32_t> order_;
};

void keep_best(Cost& best, const Cost& now) {
  best.insert = std::min(best.insert, now.insert);
  best.cancel = std::min(best.cancel, now.cancel);
  best.fire = std::min(best.fire, now.fire);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  Cost wheel{1e9, 1e9, 1e9};
  Cost heap = wheel;
  Cost queue = wheel;
  for (int round = 0; round < rounds; ++round) {
    Workload workload(count, static_cast<std::uint64_t>(round) + 1);
    keep_best(wheel, workload.wheel());
    keep_best(heap, workload.heap());
    keep_best(queue, workload.queue());
  }
  if (fired_total != 3 * static_cast<std::uint64_t>(rounds) * (count - count / 2)) {
    std::fprintf(stderr, "%llu timers fired, which is not what was armed\n", static_cast<unsigned long long>(fired_total));
    return 1;
  }
  std::printf("%zu timers, half cancelled; ns each, best of %d rounds; a node has %zu bytes\n", count, rounds, sizeof(TimerNode));
  std::printf("%-22s %8s %8s %8s\n", "", "insert", "cancel", "fire");
  std::printf("%-22s %8.1f %8.1f %8.1f\n", "TimerWheel", wheel.insert, wheel.cancel, wheel.fire);
  std::printf("%-22s %8.1f %8.1f %8.1f\n", "4-ary heap", heap.insert, heap.cancel, heap.fire);
  std::printf("%-22s %8.1f %8.1f %8.1f\n", "std::priority_queue", queue.insert, queue.cancel, queue.fire);
  std::printf("targets (the wheel)          15.0     30.0    120.0\n");
  return 0;
}
