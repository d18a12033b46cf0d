// Random: chance that can be repeated. Everything random in tests, simulation and jitter comes from one of these, made from a seed that is
// printed when something fails. Not for secrets.
#pragma once

#include <cstdint>
#include <string>

namespace rondo {

/// xoshiro256** 1.0 (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021), its state filled from the seed by
/// SplitMix64 (Steele, Lea and Flood 2014). About 1 ns a number. The same seed gives the same numbers on every machine, for ever: recorded
/// failures depend on it. One thread.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept;

  /// Uniform over all 64-bit values.
  std::uint64_t next() noexcept;
  /// Uniform over 0 .. n-1, without bias. 'n' must not be 0.
  std::uint64_t below(std::uint64_t n) noexcept;
  /// Uniform over low .. high, both included.
  std::uint64_t between(std::uint64_t low, std::uint64_t high) noexcept;
  /// True with probability 'p'; never for p <= 0, always for p >= 1.
  bool chance(double p) noexcept;
  /// Uniform over [0, 1), 53 bits.
  double real01() noexcept;
  /// An independent generator, for a part that must not disturb the numbers of others by drawing more or fewer.
  Random split() noexcept { return Random{next()}; }

  std::uint64_t seed() const noexcept { return seed_; }
  /// The one line a failing test prints: "seed 42".
  std::string describe() const;

 private:
  std::uint64_t seed_;
  std::uint64_t state_[4];
};

}  // namespace rondo
