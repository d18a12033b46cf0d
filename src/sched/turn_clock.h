// TurnClock: the scheduler's readings of its clock. After each turn one is taken, of which a short turn would spend half its time waiting:
// so between two exact readings, a few microseconds, the processor's counter says how much time has gone by. Scheduler's thread.
//
// What it promises: a reading is never behind one before. It is behind the clock by a thousandth of the time since the last exact one and
// some nanoseconds, and not ahead of it unless the clock is slewed by more than 500 ppm (adjtimex(2); chrony may by 8 %) or the counter is
// not what the kernel took it for: then by a few microseconds at most, until the next exact one. How: the counter's rate is measured over
// kPeriod and longer, taken kSlower too low, and used for kReach counts only, then the clock is read again. What cannot be (a clock that is
// behind what was foretold, a counter that went back) ends the use of the rate until it has been measured anew, and from a reading that was
// interrupted nothing is foretold. A clock that stands still, or is told what to say, must not be given a counter.
//
// 'Counter' is CpuCounter; a test counts itself.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/cpu_counter.h"
#include "rondo/base/clock.h"

namespace rondo {

template <class Counter>
class BasicTurnClock {
 public:
  BasicTurnClock(const Clock& clock, bool may_count) : clock_(clock), may_count_(may_count), last_(clock.now()) { read(); }

  /// An exact reading.
  Instant read() noexcept {
    if (!may_count_) return last_ = clock_.now();
    const std::uint64_t before = Counter::read();
    const Instant time = clock_.now();
    counted_at_ = Counter::read();  // After the time: so what is foretold from here is not ahead.
    if (last_ - time > kSlip) forget_rate();
    last_ = std::max(last_, time);
    const bool is_tight = counted_at_ - before < kTight;
    if (is_tight && time - measured_since_ >= kPeriod) measure(time);
    reach_now_ = is_tight ? reach_ : 0;
    loose_ = is_tight ? 0 : loose_ + 1;
    if (loose_ == kLooseReadings) may_count_ = false;
    read_at_ = last_;
    return last_;
  }

  /// At most kReach counts after the last exact reading: as precise, and half as dear. Else an exact one.
  Instant now() noexcept {
    if (reach_now_ == 0) return read();
    const std::uint64_t counts = Counter::read() - counted_at_;
    if (counts >= reach_now_) return read();
    const auto since = static_cast<std::int64_t>(counts * rate_ >> kShift);
    const Instant time = Instant::from_nanoseconds(read_at_.nanoseconds() + since);
    if (time <= last_) return last_;  // Two processors may differ by some counts.
    last_ = time;
    return time;
  }

 private:
  /// Of counters with 1 to 5 GHz, the ones that there are: 26 to 131 us.
  static constexpr std::uint64_t kReach = 1ULL << 17;
  static constexpr unsigned kShift = 32;
  static constexpr double kSlower = 1.0 - 1.0 / 1024;
  static constexpr double kChange = 1.0 / 8;
  static constexpr Duration kPeriod = 4ms;
  /// A reading within so many counts was not interrupted. Two of them err by a tenth of kSlower in kPeriod, or less where counts are short.
  static constexpr std::uint64_t kTight = 512;
  /// After so many in a row that were not, the counter is one that traps, and dearer than the clock.
  static constexpr unsigned kLooseReadings = 10'000;
  /// The counter is not read in the order of the program, so it may be some counts early.
  static constexpr Duration kSlip = 10ns;

  void measure(Instant time) noexcept {
    const auto counts = static_cast<double>(counted_at_ - measured_at_);
    const double rate = static_cast<double>((time - measured_since_).count()) / counts * kSlower * (1ULL << kShift);
    // The first time there is nothing to measure from. A rate above one nanosecond a count is of no counter that we know, and one that is
    // not what it was is of a period in which the machine was asleep.
    const bool is_likely = measured_at_ != 0 && rate >= 1 && rate <= static_cast<double>(1ULL << kShift) &&
                           (reach_ == 0 || std::abs(rate / static_cast<double>(rate_) - 1) < kChange);
    rate_ = is_likely ? static_cast<std::uint64_t>(rate) : 0;
    reach_ = is_likely ? kReach : 0;
    measured_since_ = time;
    measured_at_ = counted_at_;
  }
  void forget_rate() noexcept {
    reach_ = 0;
    measured_since_ = last_;
    measured_at_ = 0;
  }

  const Clock& clock_;
  bool may_count_;
  unsigned loose_ = 0;           // Readings in a row that were not tight.
  std::uint64_t reach_ = 0;      // 0: the rate is not known.
  std::uint64_t reach_now_ = 0;  // The same, or 0 after a reading that was not tight.
  std::uint64_t rate_ = 0;       // Nanoseconds a count, times 2^kShift.
  std::uint64_t counted_at_ = 0;
  Instant read_at_;  // The exact reading that belongs to counted_at_.
  Instant last_;
  Instant measured_since_;
  std::uint64_t measured_at_ = 0;
};

using TurnClock = BasicTurnClock<CpuCounter>;

}  // namespace rondo
