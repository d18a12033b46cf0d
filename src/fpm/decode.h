// decode(): one netlink message of zebra as a change of a route or of a next hop. zebra sends what it would send to the kernel. Attributes
// may be in any order; unknown ones are skipped. It reads nothing outside the message (fuzz/fpm_stream.cc). Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "dataplane/netlink/message.h"
#include "rondo/dataplane/ip.h"

namespace rondo::fpm {

/// Why a message, or what it describes, has no effect.
enum class Skip : std::uint8_t {
  None,
  FrameType,     // A frame that has no netlink messages.
  MessageType,   // Another type of message: neighbours, SRv6, traffic control.
  Family,        // Neither IPv4 nor IPv6: MPLS, EVPN.
  Table,         // A routing table that is not configured.
  Kernel,        // A route that the kernel makes by itself, such as a connected one.
  RouteType,     // Local, multicast and others; routes for packets of some sources or types of service.
  Encapsulated,  // A next hop that adds MPLS labels or a tunnel. The route is programmed with its other next hops, if it has some.
  NoGateway,     // Next hops with neither a gateway nor a device.
  Unknown,       // A deletion of something that is not held.
  Full,          // The server holds as many as it may.
  Members,       // More next hops than a group may have (limits::kGroupMembers).
  Metrics,       // Metrics of a route, such as an MTU: it is programmed without them.
};
inline constexpr std::size_t kSkips = 13;
std::string_view to_string(Skip skip) noexcept;

struct Hop {
  std::uint32_t device = 0;  // Interface index in zebra's namespace.
  bool has_gateway = false;
  bool encapsulated = false;
  bool onlink = false;  // The device reaches the gateway without a subnet.
  std::uint16_t weight = 1;
  IpAddress gateway;  // Without one: 0.0.0.0 or ::, by the family of the route or next hop.
  friend bool operator==(const Hop&, const Hop&) = default;
};

enum class Way : std::uint8_t { Unicast, Blackhole, Unreachable, Prohibit };

struct RouteChange {
  bool gone = false;
  Way way = Way::Unicast;
  std::uint8_t protocol = 0;
  std::uint32_t table = 0;
  std::uint32_t nexthop = 0;  // RTA_NH_ID; 0: the next hops are in 'hops'.
  bool too_many = false;      // More than limits::kGroupMembers hops: 'hops' is empty.
  bool has_metrics = false;   // RTA_METRICS: the route's MTU and others.
  Prefix prefix;
  IpAddress source{};  // RTA_PREFSRC; 0.0.0.0: none.
  std::vector<Hop> hops;
};

struct NexthopMember {
  std::uint32_t id = 0;
  std::uint16_t weight = 1;
  friend bool operator==(const NexthopMember&, const NexthopMember&) = default;
};

struct NexthopChange {
  bool gone = false;
  bool blackhole = false;
  bool too_many = false;  // More than limits::kGroupMembers members: 'members' is empty.
  std::uint32_t id = 0;
  Hop hop;                             // Used if 'members' is empty.
  std::vector<NexthopMember> members;  // Of a group.
  friend bool operator==(const NexthopChange&, const NexthopChange&) = default;
};

/// How RTA_MULTIPATH states weights: dplane_fpm_nl sends the weight minus 1, as the kernel expects. The older zebra_fpm sends the weight.
enum class HopWeights : std::uint8_t { MinusOne, Plain };

/// The result of decode(). Reuse it, so that the vectors keep their memory.
struct Decoded {
  enum class Kind : std::uint8_t { Route, Nexthop, Skipped, Malformed };
  Kind kind = Kind::Skipped;
  Skip skip = Skip::None;
  RouteChange route;
  NexthopChange nexthop;
};

void decode(const netlink::Message& message, HopWeights weights, Decoded& decoded);

}  // namespace rondo::fpm
