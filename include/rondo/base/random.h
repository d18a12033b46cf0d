// Random: repeatable random numbers. Tests, simulation and jitter take all random numbers from it. A failure prints the seed. Not for
// secrets.
#pragma once

#include <cstdint>
#include <string>

namespace rondo {

/// xoshiro256** 1.0 (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021), its state filled from the seed by
/// SplitMix64 (Steele, Lea and Flood 2014). About 1 ns a number. The same seed gives the same numbers on every machine and in every
/// version: recorded failures depend on it. One thread.
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
  /// An independent generator for one part, so that the part does not change the numbers of other parts.
  Random split() noexcept { return Random{next()}; }

  std::uint64_t seed() const noexcept { return seed_; }
  /// The line that a failing test prints: "seed 42".
  std::string describe() const;

 private:
  std::uint64_t seed_;
  std::uint64_t state_[4];
};

}  // namespace rondo
