// The wheel against a plain model (a multimap by tick), over random histories with long jumps, bursts and small batches.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "rondo/base/random.h"
#include "rondo/sched/timer.h"

namespace rondo {
namespace {

class TestTimer final : public TimerNode {
 public:
  explicit TestTimer(std::function<void(TestTimer&)> callback = [](TestTimer&) {}) : callback_(std::move(callback)) {}
  int fired = 0;

 private:
  void on_due() override {
    ++fired;
    callback_(*this);
  }
  std::function<void(TestTimer&)> callback_;
};

constexpr Instant at_ms(std::int64_t ms) { return Instant::from_nanoseconds(ms * 1'000'000); }
constexpr std::int64_t tick_after(Instant due) { return (due.nanoseconds() + 999'999) / 1'000'000; }

TEST(TimerWheel, NeverFiresEarlyAndAtMostOneTickLate) {
  for (const std::int64_t start_ns : {0LL, 999'999LL, 1'000'000LL, 77'123'456'789LL}) {
    for (const std::int64_t wait_ns :
         {1LL, 999'999LL, 1'000'000LL, 1'000'001LL, 255'500'000LL, 256'000'000LL, 65'536'000'000LL, 16'777'216'000'001LL}) {
      TimerWheel wheel(Instant::from_nanoseconds(start_ns));
      TestTimer timer;
      const Instant due = Instant::from_nanoseconds(start_ns + wait_ns);
      wheel.insert(timer, due);
      while (timer.fired == 0) {
        const Instant next = wheel.next_expiry();
        ASSERT_LT(next, due + 1ms);
        wheel.expire(next - 1ns, 100);
        ASSERT_EQ(timer.fired, 0) << "before next_expiry()";
        wheel.expire(next, 100);
        if (next < due) {
          ASSERT_EQ(timer.fired, 0) << "early";
        }
      }
    }
  }
}

// A replay has fewer timers than the recorded run; they fire in the same order.
TEST(TimerWheel, TimersOfOneTickFireAsTheyWereInsertedWhateverElseThereIsProperty) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random{seed};
    TimerWheel wheel(at_ms(0));
    std::vector<std::unique_ptr<TestTimer>> timers;
    std::vector<std::pair<std::int64_t, int>> fired;  // Tick, number.
    std::int64_t now = 0;
    for (int i = 0; i < 2000; ++i) {
      const std::int64_t due = now + 1 + static_cast<std::int64_t>(random.below(random.chance(0.5) ? 600 : 140'000));
      const std::int64_t tick = due - due % 97;  // Many timers of one tick.
      const bool is_ours = random.chance(0.5);
      timers.push_back(std::make_unique<TestTimer>([&fired, tick, i, is_ours](TestTimer&) {
        if (is_ours) fired.emplace_back(tick, i);
      }));
      if (tick > now) wheel.insert(*timers.back(), at_ms(tick));
      // Small batches leave some timers between two levels.
      if (random.chance(0.2)) now += static_cast<std::int64_t>(random.below(random.chance(0.1) ? 70'000 : 300));
      if (random.chance(0.3)) wheel.expire(at_ms(now), 1 + random.below(3));
    }
    while (wheel.size() > 0) wheel.expire(at_ms(now += 500), 100);
    std::map<std::int64_t, int> last;
    for (const auto& [tick, number] : fired) {
      const auto [before, first] = last.try_emplace(tick, number);
      ASSERT_TRUE(first || before->second < number) << "seed " << seed << ", tick " << tick;
      before->second = number;
    }
    ASSERT_GT(fired.size(), last.size() + 50) << "most ticks have one timer: the test does not see what it is for";
  }
}

TEST(TimerWheel, EmptyWheelHasNoNextExpiry) {
  TimerWheel wheel(at_ms(5));
  EXPECT_EQ(wheel.next_expiry(), Instant::never());
  TestTimer timer;
  wheel.insert(timer, at_ms(100));
  EXPECT_LE(wheel.next_expiry(), at_ms(100));
  wheel.cancel(timer);
  EXPECT_EQ(wheel.next_expiry(), Instant::never());
  EXPECT_EQ(wheel.size(), 0U);
}

TEST(TimerWheel, PastDueTimesFireAtTheNextExpire) {
  TimerWheel wheel(at_ms(1000));
  TestTimer past, ancient;
  wheel.insert(past, at_ms(999));
  wheel.insert(ancient, Instant::from_nanoseconds(-5));
  EXPECT_LE(wheel.next_expiry(), at_ms(1000));
  EXPECT_EQ(wheel.expire(at_ms(1000), 10), 2U);
  EXPECT_EQ(past.fired, 1);
  EXPECT_EQ(ancient.fired, 1);
}

TEST(TimerWheel, ATimerThatArmsItselfForThePastWaitsForTheNextExpire) {
  TimerWheel wheel(at_ms(0));
  TestTimer timer([&wheel](TestTimer& self) { wheel.insert(self, at_ms(0)); });
  wheel.insert(timer, at_ms(1));
  EXPECT_EQ(wheel.expire(at_ms(10), 1000), 1U);
  EXPECT_EQ(wheel.expire(at_ms(10), 1000), 1U);
  EXPECT_EQ(timer.fired, 2);
  wheel.cancel(timer);
}

TEST(TimerWheel, ATimerMayCancelOthersOfTheSameTick) {
  TimerWheel wheel(at_ms(0));
  TestTimer victim;
  TestTimer killer([&](TestTimer&) { wheel.cancel(victim); });
  wheel.insert(killer, at_ms(3));
  wheel.insert(victim, at_ms(3));
  EXPECT_EQ(wheel.expire(at_ms(3), 10), 1U);
  EXPECT_EQ(victim.fired, 0);
  EXPECT_FALSE(victim.armed());
}

TEST(TimerWheel, ReArmingMovesTheTimer) {
  TimerWheel wheel(at_ms(0));
  TestTimer timer;
  wheel.insert(timer, at_ms(5));
  wheel.insert(timer, at_ms(500));
  EXPECT_EQ(wheel.size(), 1U);
  EXPECT_EQ(wheel.expire(at_ms(499), 10), 0U);
  EXPECT_EQ(wheel.expire(at_ms(500), 10), 1U);
}

TEST(TimerWheel, ABurstTakesSeveralBatchesAndSaysSo) {
  TimerWheel wheel(at_ms(0));
  std::vector<std::unique_ptr<TestTimer>> timers;
  for (int i = 0; i < 1000; ++i) {
    timers.push_back(std::make_unique<TestTimer>());
    wheel.insert(*timers.back(), at_ms(70'000));
  }
  std::size_t fired = 0;
  int calls = 0;
  while (wheel.next_expiry() <= at_ms(70'000)) {
    const std::size_t now = wheel.expire(at_ms(70'000), 64);
    ASSERT_LE(now, 64U);
    fired += now;
    ++calls;
  }
  EXPECT_EQ(fired, 1000U);
  EXPECT_GE(calls, 1000 / 64);
}

TEST(TimerWheel, TimersBeyondFortyNineDaysAreKept) {
  TimerWheel wheel(at_ms(0));
  TestTimer far, never;
  const Instant due = at_ms((1LL << 32) * 3 + 12'345);
  wheel.insert(far, due);
  wheel.insert(never, Instant::never());
  int wakes = 0;
  while (far.fired == 0) {
    const Instant next = wheel.next_expiry();
    ASSERT_LE(next, due);
    wheel.expire(next, 10);
    ASSERT_LT(++wakes, 20) << "an idle wheel must not tick";
  }
  EXPECT_EQ(never.fired, 0);
  wheel.cancel(never);
}

TEST(TimerWheel, DestructionDisarmsWhatIsLeft) {
  TestTimer timer;
  {
    TimerWheel wheel(at_ms(0));
    wheel.insert(timer, at_ms(70'000));
  }
  EXPECT_FALSE(timer.armed());
  EXPECT_EQ(timer.fired, 0);
}

/// One random history: the wheel and a multimap from tick to timer must fire the same timers at the same call, in order of tick.
class WheelHistory {
 public:
  explicit WheelHistory(std::uint64_t seed)
      : random_(seed), now_(Instant::from_nanoseconds(static_cast<std::int64_t>(random_.next() >> 16))), wheel_(now_) {
    for (int i = 0; i < 60; ++i) {
      timers_.push_back(std::make_unique<TestTimer>([this](TestTimer& timer) { fired_.push_back(&timer); }));
    }
  }
  ~WheelHistory() {
    for (const auto& timer : timers_) wheel_.cancel(*timer);
  }

  void run() {
    for (int step = 0; step < 1500; ++step) {
      TestTimer& timer = *timers_[random_.below(timers_.size())];
      if (random_.chance(0.5)) {
        forget(timer);
        const Instant due = now_ + random_duration() - (random_.chance(0.1) ? Duration{5ms} : Duration{0});
        wheel_.insert(timer, due);
        model_.emplace(tick_after(due), &timer);
      } else if (random_.chance(0.3)) {
        forget(timer);
        wheel_.cancel(timer);
        ASSERT_FALSE(timer.armed());
      } else {
        expire();
      }
      if (testing::Test::HasFatalFailure()) return;
      ASSERT_EQ(wheel_.size(), model_.size()) << random_.describe() << " step " << step;
    }
  }

 private:
  Duration random_duration() {
    // From nanoseconds to several spans of 2^32 ms.
    return Duration{static_cast<std::int64_t>(random_.next() >> random_.between(9, 50))};
  }
  void forget(TestTimer& timer) {
    std::erase_if(model_, [&timer](const auto& entry) { return entry.second == &timer; });
  }

  void expire() {
    const Instant next = wheel_.next_expiry();
    if (!model_.empty()) {
      ASSERT_LE(next.nanoseconds(), model_.begin()->first * 1'000'000) << random_.describe();
    } else {
      ASSERT_EQ(next, Instant::never()) << random_.describe();
    }
    now_ = random_.chance(0.5) && next != Instant::never() ? std::max(now_, next) : now_ + random_duration();
    const std::size_t max = 1 + random_.below(8);
    fired_.clear();
    do {
      ASSERT_LE(wheel_.expire(now_, max), max);
    } while (wheel_.next_expiry() <= now_);
    std::int64_t last_tick = INT64_MIN;
    for (TestTimer* timer : fired_) {
      const std::int64_t tick = tick_after(timer->due());
      ASSERT_LE(timer->due(), now_) << random_.describe() << ": early";
      if (timer->due() > armed_past_) {
        ASSERT_GE(tick, last_tick) << random_.describe() << ": out of order";
        last_tick = tick;
      }
      const auto entry = std::find_if(model_.begin(), model_.end(), [timer](const auto& pair) { return pair.second == timer; });
      ASSERT_NE(entry, model_.end()) << random_.describe() << ": fired twice, or cancelled";
      model_.erase(entry);
    }
    ASSERT_TRUE(model_.empty() || model_.begin()->first > now_.nanoseconds() / 1'000'000) << random_.describe() << ": late";
    armed_past_ = now_;
  }

  Random random_;
  Instant now_;
  Instant armed_past_ = now_;  // Timers due at or before this were armed for the past: they keep the order of arming instead.
  TimerWheel wheel_;
  std::vector<std::unique_ptr<TestTimer>> timers_;
  std::multimap<std::int64_t, TestTimer*> model_;
  std::vector<TestTimer*> fired_;
};

TEST(TimerWheel, EqualsAMultimapOnRandomHistories) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    WheelHistory(seed).run();
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace rondo
