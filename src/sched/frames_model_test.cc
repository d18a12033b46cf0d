// Budgeted frames against a minimal model: which priority has each turn. There is one source a priority, so the order within one does not
// matter. Random budgets, wakes from outside and in turns, idle time, and turns of any length. "Inversion only within a budget": a lower
// priority precedes a ready higher one only if the higher one has no budget left in this frame.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/base/random.h"
#include "sim/test_source.h"

namespace rondo {
namespace {

constexpr std::uint64_t kSeeds = 400;
constexpr int kTurns = 200;

/// A map from priority to budget, as policy.h specifies it: without counts, and without skipping frames.
class FramesModel {
 public:
  FramesModel(const PolicySettings& settings, Instant now) : settings_(settings), charged_until_(now) {}

  void add(unsigned priority) { classes_[priority] = {.left = settings_.budgets[priority]}; }
  /// Adds one item, from outside or in the turn of 'running'.
  void wake(unsigned priority, Instant now) {
    if (!running_ && nobody_is_ready()) {
      begin_frame();
      charged_until_ = now;
    }
    classes_[priority].ready = true;
  }
  bool nobody_is_ready() const {
    return std::ranges::none_of(classes_, [](const auto& one) { return one.second.ready; });
  }
  /// Returns the priority of the next turn. At least one is ready.
  unsigned pick() {
    for (;; begin_frame()) {
      for (auto& [priority, one] : classes_) {
        if (!one.ready || one.left <= 0 || (settings_.one_way && priority > cursor_)) continue;
        cursor_ = priority;
        one.ready = false;
        running_ = true;
        return priority;
      }
    }
  }
  /// Counts the ready classes above 'priority', and those of them that have budget and may still run in this frame.
  std::pair<int, int> passed_over(unsigned priority) const {
    std::pair<int, int> passed{0, 0};
    for (const auto& [other, one] : classes_) {
      if (other <= priority || !one.ready) continue;
      ++passed.first;
      if (one.left > 0) ++passed.second;
    }
    return passed;
  }
  void served(unsigned priority, bool more, Instant now) {
    running_ = false;
    Class& one = classes_[priority];
    if (is_finite(priority)) {
      const std::int64_t most_debt = limits::kDebtFrames * settings_.budgets[priority];
      one.left = std::max(one.left - (now - charged_until_).count(), -most_debt);
    }
    charged_until_ = now;
    one.ready = more;
  }

 private:
  struct Class {
    std::int64_t left = 0;
    bool ready = false;
  };
  bool is_finite(unsigned priority) const { return settings_.budgets[priority] != PolicySettings::kInfinite; }
  void begin_frame() {
    for (auto& [priority, one] : classes_) {
      if (is_finite(priority)) one.left = std::min<std::int64_t>(one.left, 0) + settings_.budgets[priority];
    }
    cursor_ = limits::kPriorities - 1;
  }

  PolicySettings settings_;
  Instant charged_until_;
  std::map<unsigned, Class, std::greater<>> classes_;
  unsigned cursor_ = limits::kPriorities - 1;
  bool running_ = false;
};

/// One item a turn, of the length that the world specifies.
class Client final : public Source {
 public:
  Client(unsigned priority, std::function<void(Client&)> on_run)
      : Source("p" + std::to_string(priority), Priority{priority}), on_run_(std::move(on_run)) {}
  Turn run(const Budget&) override {
    on_run_(*this);
    --items;
    return {.items = 1, .backlog = items > 0 ? Backlog::More : Backlog::Empty};
  }
  int items = 0;

 private:
  std::function<void(Client&)> on_run_;
};

class RandomWorld {
 public:
  RandomWorld(std::uint64_t seed, bool one_way)
      : random_(seed), settings_(draw(one_way)), simulation_(settings_), model_(settings_, simulation_.world.now()) {
    for (const unsigned priority : used_) {
      clients_.push_back(std::make_unique<Client>(priority, [this](Client& client) { turn_of(client); }));
      simulation_.scheduler.add(*clients_.back());
      model_.add(priority);
    }
  }

  /// Runs 'turns' turns; returns false at the first whose priority differs from the model's.
  bool live(int turns) {
    for (int turn = 0; turn < turns; ++turn) {
      wake_some(4);
      if (random_.below(5) == 0) pass(random_.below(700));
      const bool somebody = !model_.nobody_is_ready();
      const unsigned expected = somebody ? model_.pick() : 0;
      if (somebody) {
        const auto [ready, entitled] = model_.passed_over(expected);
        if (ready > 0) ++inversions;
        EXPECT_TRUE(settings_.one_way || entitled == 0);
      }
      ran_ = nullptr;
      EXPECT_EQ(simulation_.scheduler.turn(), somebody) << "turn " << turn;
      if (!somebody && ran_ == nullptr) continue;
      if (ran_ == nullptr || ran_->priority().level() != expected) {
        ADD_FAILURE() << "turn " << turn << ": priority " << (ran_ == nullptr ? -1 : static_cast<int>(ran_->priority().level()))
                      << " had it, and not " << expected;
        return false;
      }
      model_.served(expected, ran_->items > 0, simulation_.world.now());
    }
    return true;
  }

  int inversions = 0;

 private:
  PolicySettings draw(bool one_way) {
    PolicySettings settings{.one_way = one_way};
    settings.budgets.fill(1);
    for (std::uint64_t left = 1 + random_.below(6); left > 0; --left) {
      const auto priority = static_cast<unsigned>(random_.below(limits::kPriorities));
      if (std::ranges::find(used_, priority) != used_.end()) continue;
      used_.push_back(priority);
      const bool infinite = !one_way && random_.below(8) == 0;
      settings.budgets[priority] = infinite ? PolicySettings::kInfinite : static_cast<std::int64_t>(1 + random_.below(2000));
    }
    return settings;
  }
  void pass(std::uint64_t nanoseconds) { simulation_.world.clock().advance(Duration{static_cast<std::int64_t>(nanoseconds)}); }
  void wake_some(std::uint64_t below) {
    for (std::uint64_t left = random_.below(below); left > 0; --left) {
      Client& client = *clients_[random_.below(clients_.size())];
      ++client.items;
      if (client.is_running() || client.items > 1) continue;  // It continues, or is ready already.
      model_.wake(client.priority().level(), simulation_.world.now());
      client.wake();
    }
  }
  void turn_of(Client& client) {
    ran_ = &client;
    wake_some(3);
    pass(1 + random_.below(random_.below(10) == 0 ? 6000 : 900));
    wake_some(2);
  }

  Random random_;
  std::vector<unsigned> used_;
  PolicySettings settings_;
  test::Simulation simulation_;
  FramesModel model_;
  std::vector<std::unique_ptr<Client>> clients_;  // Declared after the scheduler: they leave it first.
  const Client* ran_ = nullptr;
};

void live_many(bool one_way) {
  int inversions = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    RandomWorld world(seed, one_way);
    ASSERT_TRUE(world.live(kTurns)) << "seed " << seed;
    inversions += world.inversions;
  }
  EXPECT_GT(inversions, 1000) << "the test has seen lower priorities go before higher ones that were out of budget";
}

TEST(BudgetedFramesModel, EachTurnIsOfThePriorityThatThePlainestModelSays) { live_many(false); }

TEST(BudgetedFramesModel, WithACursorThatGoesDownOnlyLikewise) { live_many(true); }

}  // namespace
}  // namespace rondo
