// NumberSpace: which numbers of the kernel's next-hop objects are ours. The kernel has one space of them in a network namespace for all
// programs, and says nothing when one replaces an object of another; so each protocol number has numbers of its own. Pure; any thread.
#pragma once

#include <cstdint>

namespace rondo::switch_agent {

struct NumberSpace {
  std::uint32_t nexthops = 0;     // The first.
  std::uint32_t groups = 0;       // Likewise.
  std::uint32_t group_count = 0;  // Many times as many as there can be groups, so that names seldom want the same one.
};

/// rtm_protocol of what rondod creates unless told otherwise.
inline constexpr std::uint8_t kDefaultProtocol = 201;

/// Far above what zebra counts up from 1. That of the default protocol is the largest, and as in every version.
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
