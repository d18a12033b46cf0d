// The cost of handling a descriptor: N eventfds with eight priorities become ready, and the loop handles all, reading eight bytes each.
// Checks that each is handled exactly once, and that loops which promise priority order keep it. Processor time.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "peers/measure.h"
#include "peers/works.h"

namespace rondo::bench {

namespace {

constexpr std::array<std::size_t, 4> kSizes = {10, 100, 1000, 10'000};
/// Descriptors handled in one round, in batches of N, unless that takes longer than kLongEnough.
constexpr std::size_t kHandled = 50'000;
constexpr Duration kLongEnough = 500ms;

/// Records which descriptors were handled, and in which order.
struct Account {
  Loop& loop;
  unsigned previous = kPriorities;
  std::uint64_t handled = 0;
  std::uint64_t steps_up = 0;  // Handled directly after a less urgent one.
  void begin() {
    previous = kPriorities;
    handled = 0;
    steps_up = 0;
  }
};

class Handled final : public Ready {
 public:
  Handled(int descriptor, unsigned priority, Account& account) : Ready(descriptor), priority_(priority), account_(account) {}
  bool take(std::uint64_t value) override {
    require(value == 1, "an eventfd was notified once and counts otherwise");
    if (priority_ > account_.previous) ++account_.steps_up;
    account_.previous = priority_;
    ++account_.handled;
    account_.loop.count();
    return false;
  }

 private:
  const unsigned priority_;
  Account& account_;
};

/// The figures of a measurement.
enum Figure : std::size_t { kEach, kStepsUp, kIsSlow };

class Run {
 public:
  Run(const Candidate& candidate, const EventFds& fds)
      : candidate_(candidate), fds_(fds), loop_(candidate.make(Threads::One)), handlers_(fds.all().size()) {
    for (std::size_t i = 0; i < fds.all().size(); ++i) {
      const auto priority = static_cast<unsigned>(i % kPriorities);
      handlers_[i].emplace(fds.all()[i], priority, account_);
      loop_->watch(*handlers_[i], priority);
    }
  }

  std::vector<double> measure() {
    // The first batch grows arrays and fills caches. It counts only if it takes so long that a second one would add no information.
    Duration time = batch();
    if (time > kLongEnough) return {nanoseconds_each(time, fds_.all().size()), steps_up(), 1.0};
    time = Duration{0};
    std::uint64_t handled = 0;
    while (handled < kHandled && time < kLongEnough) {
      time += batch();
      handled += fds_.all().size();
    }
    return {nanoseconds_each(time, handled), steps_up(), 0.0};
  }

 private:
  double steps_up() const { return static_cast<double>(account_.steps_up); }  // Steps of the last batch.
  Duration batch() {
    fds_.notify_all();
    account_.begin();
    const Instant begin = spent();
    loop_->run(fds_.all().size());
    const Duration time = spent() - begin;
    require(account_.handled == fds_.all().size(), candidate_.name + " handled another number of descriptors than were ready");
    require(!candidate_.strict || account_.steps_up == 0, candidate_.name + " did not keep the order that it promises");
    return time;
  }

  const Candidate& candidate_;
  const EventFds& fds_;
  const std::unique_ptr<Loop> loop_;
  Account account_{*loop_};
  std::vector<std::optional<Handled>> handlers_;  // Stored side by side, so that no loop has them nearer to its own data than others.
};

/// Fills column 'column', and the order of the last size.
void measure_size(const Candidates& all, std::size_t size, int rounds, Table& table, std::size_t column) {
  if (const EventFds fds(size); fds.error() != 0) {
    std::printf("  %zu descriptors skipped: %s\n", size, std::strerror(fds.error()));
    return;
  }
  std::vector<bool> slow(all.size(), false);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t row = 0; row < all.size(); ++row) {
      if (slow[row]) continue;
      const std::vector<double> figures = in_own_process([&] {
        const EventFds fds(size);
        return Run(all[row], fds).measure();
      });
      table.add(row, column, figures[kEach]);
      table.add(row, kSizes.size(), figures[kStepsUp]);
      slow[row] = figures[kIsSlow] != 0;
    }
  }
}

}  // namespace

void dispatch(const Settings& settings) {
  std::printf(
      "A ready descriptor of N, eight priorities, ns of processor time, best of %d. Steps up: of the last batch of the last size,\n",
      settings.rounds);
  std::printf("how many were handled right after a less urgent one. Rows that take more than %lld ms a batch are measured once.\n",
              static_cast<long long>(kLongEnough.count() / 1'000'000));
  const Candidates all = chosen(kDispatch, settings);
  std::vector<Table::Column> columns;
  for (const std::size_t size : kSizes) columns.push_back({std::to_string(size), 0});
  columns.push_back({"steps up", 0, Table::Keeps::Latest});
  Table table(all, columns);
  for (std::size_t column = 0; column < kSizes.size(); ++column) measure_size(all, kSizes[column], settings.rounds, table, column);
  table.print();
}

}  // namespace rondo::bench
