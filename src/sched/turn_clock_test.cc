// TurnClock with a counter and a clock of the test's own, and with those of the machine.
#include "sched/turn_clock.h"

#include <gtest/gtest.h>

#include <utility>

#include "rondo/base/random.h"
#include "rondo/sim/sim_clock.h"

namespace rondo {
namespace {

/// Counts what the test says; reading it takes no time.
struct HandCounter {
  static inline std::uint64_t counts = 0;
  static inline std::uint64_t interruption = 0;  // Goes by between the next reading and the one after it.
  static std::uint64_t read() noexcept { return std::exchange(counts, counts + std::exchange(interruption, 0)); }
};

/// A machine whose counter runs at 3 counts a nanosecond, and a TurnClock on it.
class Machine {
 public:
  Machine() { HandCounter::counts = 1'000'000; }
  void pass(Duration time, double rate = 3.0) {
    clock.advance(time);
    HandCounter::counts += static_cast<std::uint64_t>(static_cast<double>(time.count()) * rate);
  }
  /// Lets the rate be measured.
  void measure() {
    for (int i = 0; i < 3; ++i) {
      pass(5ms);
      turn_clock.read();
    }
  }
  /// A reading without the clock: one that would be exact tells the counter from it.
  Duration behind() { return clock.now() - turn_clock.now(); }

  sim::SimClock clock;
  BasicTurnClock<HandCounter> turn_clock{clock, true};
};

TEST(TurnClock, FollowsTheClockByTheCounterAThousandthTooSlow) {
  Machine machine;
  machine.measure();
  for (int i = 0; i < 40; ++i) {
    machine.pass(1us);
    const Duration behind = machine.behind();
    EXPECT_GE(behind, 0ns);
    EXPECT_LE(behind, (i + 1) * 1ns + 2ns);
  }
  EXPECT_GT(machine.behind(), 20ns) << "the clock itself was read, not the counter";
}

TEST(TurnClock, ReadsTheClockAgainWhenTheCounterHasGoneFar) {
  Machine machine;
  machine.measure();
  machine.pass(1ms);
  EXPECT_EQ(machine.behind(), 0ns);
  machine.pass(30us);
  EXPECT_GT(machine.behind(), 0ns);
  machine.turn_clock.read();
  EXPECT_EQ(machine.behind(), 0ns);
}

TEST(TurnClock, ForetellsNothingFromAReadingThatWasInterrupted) {
  Machine machine;
  machine.measure();
  HandCounter::interruption = 15'000'000;  // 5 ms between the counter's first reading and the clock's.
  machine.turn_clock.read();
  machine.pass(20us);
  EXPECT_EQ(machine.behind(), 0ns);
  machine.pass(20us);
  EXPECT_GT(machine.behind(), 0ns) << "that one was not, and is used";
}

TEST(TurnClock, GivesACounterUpThatIsNeverReadWithoutInterruption) {
  Machine machine;
  machine.measure();
  for (int i = 0; i < 10'000; ++i) {
    HandCounter::interruption = 1000;
    machine.turn_clock.read();
  }
  for (int i = 0; i < 3; ++i) {
    machine.pass(20us);
    EXPECT_EQ(machine.behind(), 0ns);
  }
}

TEST(TurnClock, NeverGoesBackAndIsHardlyAheadWhateverTheClocksDo) {
  Random random(11);
  Machine machine;
  Instant last = machine.turn_clock.now();
  for (int i = 0; i < 200'000; ++i) {
    // The clock is slewed, the machine sleeps (the counter runs on, or begins anew), another processor's counter is a little behind.
    const double rate = random.chance(0.5) ? 3.0 : 2.999 + 0.002 * static_cast<double>(random.below(1000)) / 1000;
    machine.pass(Duration{static_cast<std::int64_t>(random.below(random.chance(0.01) ? 10'000'000 : 3000))}, rate);
    if (random.chance(0.0005)) HandCounter::counts += random.below(1ULL << 40);
    if (random.chance(0.0005)) HandCounter::counts = random.below(1000);
    if (random.chance(0.01)) HandCounter::counts -= std::min<std::uint64_t>(HandCounter::counts, random.below(20));
    const Instant now = random.chance(0.05) ? machine.turn_clock.read() : machine.turn_clock.now();
    ASSERT_GE(now, last);
    // A jump of the counter within kReach of it looks like time: 131,072 counts of a third of a nanosecond. Then it is behind again.
    ASSERT_LE(now, machine.clock.now() + 44us);
    last = now;
  }
}

TEST(TurnClock, MeasuresAnewWhenTheClockFallsBehindWhatTheCounterSaid) {
  Machine machine;
  machine.measure();
  machine.pass(30us, 4.0);  // The counter has become faster by a third.
  const Instant said = machine.turn_clock.now();
  EXPECT_GT(said, machine.clock.now());
  EXPECT_EQ(machine.turn_clock.read(), said) << "it went back";
  machine.pass(20us, 4.0);
  EXPECT_EQ(machine.behind(), 0ns) << "the old rate is still used";
  for (int i = 0; i < 3; ++i) {
    machine.pass(5ms, 4.0);
    machine.turn_clock.read();
  }
  machine.pass(20us, 4.0);
  EXPECT_GE(machine.behind(), 0ns);
  EXPECT_LE(machine.behind(), 22ns);
}

TEST(TurnClock, WithoutACounterEachReadingIsExact) {
  Machine machine;
  BasicTurnClock<HandCounter> exact(machine.clock, false);
  machine.measure();
  for (int i = 0; i < 100; ++i) {
    HandCounter::counts += 500;
    machine.clock.advance(17ns);
    ASSERT_EQ(exact.now(), machine.clock.now());
  }
}

TEST(TurnClock, OfThisMachineIsWithinAMicrosecondOfItsClock) {
  if (!CpuCounter::is_even()) GTEST_SKIP() << "the kernel does not make its time of the processor's counter here";
  const SystemClock clock;
  TurnClock turn_clock(clock, true);
  Instant last;
  std::uint64_t near = 0;
  std::uint64_t readings = 0;
  const Instant end = clock.now() + 100ms;
  for (Instant before = clock.now(); before < end; ++readings) {
    const Instant now = turn_clock.now();
    const Instant after = clock.now();
    ASSERT_GE(now, last);
    ASSERT_LE(now, after);
    if (now >= before - 1us) ++near;
    last = now;
    before = after;
  }
  EXPECT_GT(near, readings * 99 / 100) << "the few others: readings that the machine interrupted";
}

}  // namespace
}  // namespace rondo
