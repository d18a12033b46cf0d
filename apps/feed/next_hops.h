// NextHopPlan: the next hops, groups, neighbours, interfaces and ports that a fed routing table uses, because public tables contain none.
// The mapping from an origin to its group is fixed, so that every run and every tool uses the same one:
//   key     the origin AS as 4 big-endian bytes; without an origin, the first 4 bytes of the prefix, with the last two zeroed for IPv4
//   group   h = FNV-1a 32 of the key, u = h / 2^32, group = floor(groups * u * u): skewed, as real tables are
//   group g of a family has the next hops 4g .. 4g+3 (equal-cost multipath of four)
// Addressing: 8 ports, each with its own subnet, so that every next hop is connected. Port p has 10.254.p.1/24 and fd00:10:254:p::1/64;
// next hop k lives on port k mod 8 as 10.254.(k mod 8).(2 + k / 8), or fd00:10:254:(k mod 8)::(2 + k / 8).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "feed/prefix.h"
#include "rondo/base/result.h"

namespace rondo::feed {

inline constexpr unsigned kPorts = 8;
inline constexpr unsigned kHopsPerGroup = 4;
inline constexpr unsigned kDefaultGroups = 32;
/// 504 groups use 2016 next hops, 252 on each port: hosts 2 to 253 of its /24.
inline constexpr unsigned kGroupsMax = 504;

/// FNV-1a, 32 bits, of 'key' as 4 big-endian bytes.
std::uint32_t fnv1a(std::uint32_t key) noexcept;

struct PortNames {
  std::string prefix = "Ethernet";
  unsigned first = 0;
  unsigned step = 4;
};

struct NextHop {
  std::string address;
  std::string mac;
  unsigned port = 0;  // 0 .. kPorts - 1
};

class NextHopPlan {
 public:
  /// InvalidArgument when 'groups' is not in 1 .. kGroupsMax or the ports have no name.
  static Result<NextHopPlan> make(unsigned groups = kDefaultGroups, PortNames ports = {});

  unsigned groups() const noexcept { return groups_; }
  unsigned hops() const noexcept { return groups_ * kHopsPerGroup; }

  /// The group of a route with this origin, or of a route without origin.
  unsigned group_of(const Prefix& prefix, std::optional<std::uint32_t> origin) const noexcept;

  /// The key in NEXTHOP_GROUP_TABLE: "7" for IPv4, "v6-7" for IPv6.
  static std::string group_name(unsigned group, Family family);
  /// Next hop k, 0 .. hops() - 1.
  static NextHop hop(unsigned k, Family family);

  /// The name of port p, such as "Ethernet12".
  std::string port_name(unsigned port) const;
  /// The port's own address with length, such as "10.254.3.1/24".
  static std::string port_address(unsigned port, Family family);

 private:
  NextHopPlan(unsigned groups, PortNames ports) : groups_(groups), ports_(std::move(ports)) {}
  unsigned groups_;
  PortNames ports_;
};

}  // namespace rondo::feed
