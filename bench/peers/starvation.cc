// The share of priority 0 while priorities 1 to 7 flood: one descriptor of each is always readable, and each handler takes 50 us. Rondo
// states its promised share and longest wait beforehand; the others are only measured.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "peers/measure.h"
#include "peers/works.h"

namespace rondo::bench {

namespace {

constexpr Duration kHandler = 50us;

double milliseconds(Duration time) { return microseconds(time) / 1000.0; }

class Flooding final : public Ready {
 public:
  Flooding(int descriptor, Loop& loop, Instant end) : Ready(descriptor), loop_(loop), end_(end), last_(now()) {}
  bool take(std::uint64_t) override {
    const Instant begin = now();
    longest_gap_ = std::max(longest_gap_, begin - last_);
    burn(kHandler);
    last_ = now();
    ran_ += last_ - begin;
    ++turns_;
    if (last_ >= end_) loop_.count();
    return true;
  }
  std::uint64_t turns() const { return turns_; }
  Duration ran() const { return ran_; }
  Duration longest_gap() const { return std::max(longest_gap_, now() - last_); }

 private:
  Loop& loop_;
  const Instant end_;
  Instant last_;
  Duration longest_gap_{0};
  Duration ran_{0};
  std::uint64_t turns_ = 0;
};

std::vector<double> measure(const Candidate& candidate, Duration time) {
  const EventFds fds(kPriorities, 1'000'000'000, true);
  require(fds.error() == 0, "not enough descriptors");
  const std::unique_ptr<Loop> loop = candidate.make(Threads::One);
  std::vector<std::unique_ptr<Flooding>> sources;
  const Instant end = now() + time;
  for (unsigned priority = 0; priority < kPriorities; ++priority) {
    sources.push_back(std::make_unique<Flooding>(fds.all()[priority], *loop, end));
    loop->watch(*sources.back(), priority);
  }
  loop->run(1);
  const Flooding& low = *sources.front();
  Duration all{0};
  for (const auto& source : sources) all += source->ran();
  const Promise promise = loop->promise(0);
  return {static_cast<double>(low.turns()) / std::chrono::duration<double>(time).count(),
          100.0 * static_cast<double>(low.ran().count()) / static_cast<double>(all.count()),
          promise.share ? 100.0 * *promise.share : Table::kNothing, low.turns() > 0 ? milliseconds(low.longest_gap()) : Table::kNothing,
          promise.longest_wait ? milliseconds(*promise.longest_wait) : Table::kNothing};
}

}  // namespace

void starvation(const Settings& settings) {
  std::printf(
      "Priority 0 while priorities 1 to 7 flood with 50 us each: turns a second, share of the time in %%, the share that was promised,\n");
  std::printf("the longest wait in ms, and the longest that was promised. A line without a wait: no turn at all. Best of %d.\n",
              settings.rounds);
  const Candidates all = chosen(kStarvation, settings);
  using Keeps = Table::Keeps;
  Table table(all, {{"turns/s", 0, Keeps::Compared, false},
                    {"share", 2, Keeps::Compared, false},
                    {"promised", 2, Keeps::Latest},
                    {"longest", 1, Keeps::Best},
                    {"bound", 1, Keeps::Latest}});
  for (int round = 0; round < settings.rounds; ++round) {
    for (std::size_t row = 0; row < all.size(); ++row) {
      table.add(row, in_own_process([&] { return measure(all[row], settings.part); }));
    }
  }
  table.print();
}

}  // namespace rondo::bench
