#include "rondo/base/random.h"

#include <bit>

#include "rondo/base/assert.h"

namespace rondo {

Random::Random(std::uint64_t seed) noexcept : seed_(seed) {
  std::uint64_t x = seed;
  for (std::uint64_t& word : state_) {
    x += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = x;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    word = z ^ (z >> 31);
  }
}

std::uint64_t Random::next() noexcept {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t n) noexcept {
  RONDO_ASSERT(n != 0);
  // Numbers below 2^64 mod n would make the first values slightly more likely, so they are drawn again.
  const std::uint64_t unfair = (0 - n) % n;
  std::uint64_t value = next();
  while (value < unfair) value = next();
  return value % n;
}

std::uint64_t Random::between(std::uint64_t low, std::uint64_t high) noexcept {
  RONDO_ASSERT(low <= high);
  const std::uint64_t span = high - low;
  return span == UINT64_MAX ? next() : low + below(span + 1);
}

bool Random::chance(double p) noexcept { return real01() < p; }

double Random::real01() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

std::string Random::describe() const { return "seed " + std::to_string(seed_); }

}  // namespace rondo
