// Makes distinct prefixes without a set: for each length, the index passes through a permutation of that length's address bits.
#include "feed/synthetic.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>

namespace rondo::feed {
namespace {

struct LengthShare {
  unsigned length;
  std::uint64_t routes;
};

// Prefix lengths of the real IPv4 table of 2024-01 (901,899 routes).
constexpr std::array kLengthsV4{
    LengthShare{8, 16},     LengthShare{9, 13},      LengthShare{10, 38},    LengthShare{11, 103},   LengthShare{12, 299},
    LengthShare{13, 581},   LengthShare{14, 1203},   LengthShare{15, 2100},  LengthShare{16, 13490}, LengthShare{17, 8235},
    LengthShare{18, 13798}, LengthShare{19, 24870},  LengthShare{20, 42611}, LengthShare{21, 50750}, LengthShare{22, 108623},
    LengthShare{23, 96510}, LengthShare{24, 537698}, LengthShare{25, 20},    LengthShare{26, 3},     LengthShare{27, 11},
    LengthShare{28, 18},    LengthShare{29, 17},     LengthShare{30, 3},     LengthShare{31, 3},     LengthShare{32, 886},
};

// Prefix lengths of the IPv6 table of the same day (160,147 routes); lengths with fewer than 3 routes are omitted.
constexpr std::array kLengthsV6{
    LengthShare{20, 16},    LengthShare{21, 3},    LengthShare{22, 7},     LengthShare{23, 8},     LengthShare{24, 30},
    LengthShare{25, 8},     LengthShare{26, 15},   LengthShare{27, 20},    LengthShare{28, 193},   LengthShare{29, 4371},
    LengthShare{30, 650},   LengthShare{31, 284},  LengthShare{32, 22548}, LengthShare{33, 2926},  LengthShare{34, 2603},
    LengthShare{35, 1043},  LengthShare{36, 5996}, LengthShare{37, 880},   LengthShare{38, 1617},  LengthShare{39, 1377},
    LengthShare{40, 13418}, LengthShare{41, 903},  LengthShare{42, 2301},  LengthShare{43, 1001},  LengthShare{44, 14365},
    LengthShare{45, 1553},  LengthShare{46, 3039}, LengthShare{47, 3153},  LengthShare{48, 75488}, LengthShare{49, 11},
    LengthShare{50, 3},     LengthShare{56, 24},   LengthShare{58, 20},    LengthShare{64, 184},   LengthShare{124, 4},
    LengthShare{125, 9},    LengthShare{126, 19},  LengthShare{127, 42},   LengthShare{128, 6},
};

/// The first octets that a route may have: 1 .. 223 without 10 (used by the next hops) and 127.
bool is_routable_octet(std::uint32_t octet) noexcept { return octet != 0 && octet != 10 && octet != 127 && octet < 224; }
constexpr std::uint64_t kRoutableOctets = 221;
/// The bits that distinguish IPv6 prefixes: those after 2000::/3, at most this many. Later bits are derived from them.
constexpr unsigned kPermutedBitsV6 = 61;

std::uint64_t room(Family family, unsigned length) noexcept {
  if (family == Family::V4) return kRoutableOctets << (length - 8U);
  return std::uint64_t{1} << std::min(length - 3U, kPermutedBitsV6);
}

/// A permutation of the numbers below 2^bits: each step (odd multiplication, addition, xor with the shifted upper half) can be reversed.
class Permutation {
 public:
  Permutation(unsigned bits, std::uint64_t seed) noexcept : bits_(bits) {
    for (Step& step : steps_) step = {splitmix64(seed) | 1U, splitmix64(seed)};
  }
  std::uint64_t operator()(std::uint64_t index) const noexcept {
    const std::uint64_t mask = (std::uint64_t{1} << bits_) - 1;
    for (const Step& step : steps_) {
      index = (index * step.factor + step.summand) & mask;
      index ^= index >> ((bits_ + 1U) / 2U);
    }
    return index;
  }

 private:
  struct Step {
    std::uint64_t factor;
    std::uint64_t summand;
  };
  unsigned bits_;
  std::array<Step, 3> steps_{};
};

void append_v4(std::vector<Route>& routes, unsigned length, std::uint64_t count, std::uint64_t seed, const NextHopPlan& plan) {
  const Permutation permute(length, seed);
  for (std::uint64_t index = 0; count > 0; ++index) {
    const auto address = static_cast<std::uint32_t>(permute(index) << (32U - length));
    if (!is_routable_octet(address >> 24U)) continue;
    const Prefix prefix = Prefix::v4(address, length);
    routes.push_back({prefix, static_cast<std::uint16_t>(plan.group_of(prefix, {})), false});
    --count;
  }
}

void append_v6(std::vector<Route>& routes, unsigned length, std::uint64_t count, std::uint64_t seed, const NextHopPlan& plan) {
  const unsigned bits = std::min(length - 3U, kPermutedBitsV6);
  const Permutation permute(bits, seed);
  for (std::uint64_t index = 0; index < count; ++index) {
    Prefix prefix;
    prefix.family = Family::V6;
    prefix.length = static_cast<std::uint8_t>(length);
    prefix.high = std::uint64_t{1} << 61U | permute(index) << (61U - bits);
    if (length > 64) {
      std::uint64_t state = seed + index;
      prefix.low = splitmix64(state) & ~std::uint64_t{0} << (128U - length);
    }
    routes.push_back({prefix, static_cast<std::uint16_t>(plan.group_of(prefix, {})), false});
  }
}

std::span<const LengthShare> shares_of(Family family) noexcept {
  if (family == Family::V4) return kLengthsV4;
  return kLengthsV6;
}

}  // namespace

Result<std::map<unsigned, std::uint64_t>> length_counts(Family family, std::uint64_t total) {
  const std::span<const LengthShare> shares = shares_of(family);
  std::uint64_t sum = 0;
  for (const LengthShare& share : shares) sum += share.routes;
  if (total > std::numeric_limits<std::uint32_t>::max()) {
    return failure(StatusCode::ResourceExhausted, std::to_string(total) + " synthetic routes are too many");
  }
  std::map<unsigned, std::uint64_t> counts;
  std::vector<std::pair<std::uint64_t, unsigned>> remainders;
  std::uint64_t left = total;
  for (const LengthShare& share : shares) {
    counts[share.length] = total * share.routes / sum;
    remainders.emplace_back(total * share.routes % sum, share.length);
    left -= counts[share.length];
  }
  std::ranges::sort(remainders, std::greater<>{});
  for (std::size_t i = 0; i < left; ++i) ++counts[remainders[i].second];

  std::uint64_t carried = 0;
  for (auto& [length, count] : counts) {
    count += std::exchange(carried, 0);
    const std::uint64_t fits = room(family, length);
    if (count > fits) carried = count - std::exchange(count, fits);
  }
  if (carried != 0) {
    return failure(StatusCode::ResourceExhausted,
                   std::to_string(total) + " distinct " + std::string{to_string(family)} + " prefixes do not fit");
  }
  return counts;
}

Result<std::vector<Route>> synthetic_routes(const SyntheticOptions& options, const NextHopPlan& plan) {
  const Result<std::map<unsigned, std::uint64_t>> v4 = length_counts(Family::V4, options.ipv4);
  if (!v4) return failure(v4.error());
  const Result<std::map<unsigned, std::uint64_t>> v6 = length_counts(Family::V6, options.ipv6);
  if (!v6) return failure(v6.error());
  std::vector<Route> routes;
  routes.reserve(options.ipv4 + options.ipv6);
  std::uint64_t seeds = options.seed;
  for (const auto& [length, count] : *v4) append_v4(routes, length, count, splitmix64(seeds), plan);
  for (const auto& [length, count] : *v6) append_v6(routes, length, count, splitmix64(seeds), plan);
  return routes;
}

}  // namespace rondo::feed
