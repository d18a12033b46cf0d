// NumberSpace: the numbers of the kernel's next-hop objects that belong to us. All programs in a network namespace share one number space,
// and the kernel reports nothing when one program replaces an object of another. So each protocol number has a range of its own. Pure; any
// thread.
#pragma once

#include <cstdint>

namespace rondo::switch_agent {

struct NumberSpace {
  std::uint32_t nexthops = 0;     // The first number of next hops.
  std::uint32_t groups = 0;       // The first number of groups.
  std::uint32_t group_count = 0;  // Many times the possible number of groups, so that two names seldom choose the same number.
};

/// The default rtm_protocol of the objects that rondod creates.
inline constexpr std::uint8_t kDefaultProtocol = 201;

/// The ranges are far above the numbers that zebra counts up from 1. The default protocol has the largest range, the same one as in every
/// version.
constexpr NumberSpace number_space(std::uint8_t protocol) {
  if (protocol == kDefaultProtocol) return {0x52000000, 0x53000000, 0x0d000000};
  constexpr std::uint32_t kBegin = 0x60000000;
  constexpr std::uint32_t kEach = 0x00a00000;
  constexpr std::uint32_t kNexthops = 0x00200000;
  const std::uint32_t first = kBegin + kEach * protocol;
  return {first, first + kNexthops, kEach - kNexthops};
}
static_assert(number_space(255).groups + (number_space(255).group_count - 1) == 0xFFFFFFFF, "the last numbers of 32 bits");
static_assert(number_space(kDefaultProtocol).groups + number_space(kDefaultProtocol).group_count == 0x60000000);

}  // namespace rondo::switch_agent
