// How long an urgent message waits: another thread sends one of priority 7 each millisecond, with the time in it. Meanwhile a hundred
// descriptors of priority 0 are always readable, and each takes 50 us. The floor is the same without the flood: the loop sleeps and is
// woken.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <thread>
#include <vector>

#include "peers/measure.h"
#include "peers/works.h"
#include "rondo/base/random.h"

namespace rondo::bench {

namespace {

constexpr std::size_t kFlooding = 100;
constexpr Duration kHandler = 50us;
constexpr Duration kPeriod = 1ms;

class Burning final : public Ready {
 public:
  using Ready::Ready;
  bool take(std::uint64_t) override {
    burn(kHandler);
    return true;
  }
};

class Waits final : public Receiver {
 public:
  explicit Waits(Loop& loop) : loop_(loop) {}
  void take(std::int64_t sent) override {
    microseconds_.push_back(microseconds(now() - Instant::from_nanoseconds(sent)));
    loop_.count();
  }
  std::vector<double> sorted() {
    std::ranges::sort(microseconds_);
    return microseconds_;
  }

 private:
  Loop& loop_;
  std::vector<double> microseconds_;
};

/// Sends one message a period, shifted by up to a handler's time, so that the sender does not synchronise with the flood.
void send(Port& port, std::uint64_t messages) {
  stay_on(1);
  Random random(1);
  Instant due = now();
  for (std::uint64_t i = 0; i < messages; ++i) {
    due = due + kPeriod;
    const Instant at = due + Duration{random.below(static_cast<std::uint64_t>(kHandler.count()))};
    const timespec until{static_cast<time_t>(at.nanoseconds() / 1'000'000'000), static_cast<long>(at.nanoseconds() % 1'000'000'000)};
    ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    port.send(now().nanoseconds());
  }
}

std::vector<double> waits(const Candidate& candidate, std::size_t flooding, std::uint64_t messages) {
  // Never exhausted: each read takes one.
  const EventFds fds(flooding, 1'000'000'000, true);
  require(fds.error() == 0, "not enough descriptors");
  const std::unique_ptr<Loop> loop = candidate.make(Threads::Several);
  Waits receiver(*loop);
  Port& port = loop->open(receiver, kPriorities - 1);
  std::vector<std::unique_ptr<Burning>> sources;
  for (const int fd : fds.all()) {
    sources.push_back(std::make_unique<Burning>(fd));
    loop->watch(*sources.back(), 0);
  }
  std::thread sender([&port, messages] { send(port, messages); });
  loop->run(messages);
  sender.join();
  std::vector<double> sorted = receiver.sorted();
  require(sorted.size() == messages, candidate.name + " handled another number of messages than were sent");
  return sorted;
}

}  // namespace

void flood(const Settings& settings) {
  const auto messages = static_cast<std::uint64_t>(settings.part / kPeriod);
  std::printf(
      "A message of priority 7 from another thread each millisecond, %zu descriptors flood priority 0 with 50 us each: us from send to\n",
      kFlooding);
  std::printf(
      "handler, %llu messages, best of %d. Floor: without the flood, the loop asleep. Over floor: p99 less the floor's (target: 60).\n",
      static_cast<unsigned long long>(messages), settings.rounds);
  const Candidates all = chosen(kFlood, settings);
  using Keeps = Table::Keeps;
  Table table(all,
              {{"floor p50", 1, Keeps::Best}, {"floor p99", 1, Keeps::Best}, {"p50", 1}, {"p99", 1}, {"over floor", 1, Keeps::Latest}});
  for (int round = 0; round < settings.rounds; ++round) {
    for (std::size_t row = 0; row < all.size(); ++row) {
      table.add(row, in_own_process([&]() -> std::vector<double> {
                  const std::vector<double> floor = waits(all[row], 0, messages);
                  const std::vector<double> flooded = waits(all[row], kFlooding, messages);
                  return {quantile(floor, 0.5), quantile(floor, 0.99), quantile(flooded, 0.5), quantile(flooded, 0.99)};
                }));
    }
  }
  for (std::size_t row = 0; row < all.size(); ++row) table.add(row, 4, table.at(row, 3) - table.at(row, 1));
  table.print();
}

}  // namespace rondo::bench
