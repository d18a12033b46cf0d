// See next_hops.h.
#include "feed/next_hops.h"

#include <cstdio>
#include <utility>

#include "rondo/base/assert.h"

namespace rondo::feed {
namespace {

/// 10.254.port.host, or fd00:10:254:port::host in its canonical text.
std::string host_on(unsigned port, unsigned host, Family family) {
  if (family == Family::V4) return address_text(Prefix::v4(10U << 24U | 254U << 16U | port << 8U | host, 32));
  return address_text(Prefix{0xfd00'0010'0254'0000U | port, host, 128, Family::V6});
}

}  // namespace

std::uint32_t fnv1a(std::uint32_t key) noexcept {
  std::uint32_t hash = 2166136261U;
  for (unsigned shift = 32; shift > 0;) {
    shift -= 8;
    hash = (hash ^ (key >> shift & 255U)) * 16777619U;
  }
  return hash;
}

Result<NextHopPlan> NextHopPlan::make(unsigned groups, PortNames ports) {
  if (groups == 0 || groups > kGroupsMax) {
    return failure(StatusCode::InvalidArgument,
                   "the number of next-hop groups must be 1 to " + std::to_string(kGroupsMax) + ", not " + std::to_string(groups));
  }
  if (ports.prefix.empty()) return failure(StatusCode::InvalidArgument, "the ports need a name");
  if (ports.step == 0) return failure(StatusCode::InvalidArgument, "the step between port numbers must not be 0");
  return NextHopPlan{groups, std::move(ports)};
}

unsigned NextHopPlan::group_of(const Prefix& prefix, std::optional<std::uint32_t> origin) const noexcept {
  std::uint32_t key = origin.value_or(static_cast<std::uint32_t>(prefix.high >> 32U));
  if (!origin && prefix.family == Family::V4) key &= 0xffff0000U;
  const double share = static_cast<double>(fnv1a(key)) / 4294967296.0;
  return static_cast<unsigned>(groups_ * share * share);
}

std::string NextHopPlan::group_name(unsigned group, Family family) { return (family == Family::V4 ? "" : "v6-") + std::to_string(group); }

NextHop NextHopPlan::hop(unsigned k, Family family) {
  RONDO_ASSERT(k < kGroupsMax * kHopsPerGroup);
  NextHop hop;
  hop.port = k % kPorts;
  const unsigned host = 2 + k / kPorts;
  hop.address = host_on(hop.port, host, family);
  char mac[24];
  std::snprintf(mac, sizeof mac, "02:00:0a:fe:%02x:%02x", hop.port, host);
  hop.mac = mac;
  return hop;
}

std::string NextHopPlan::port_name(unsigned port) const { return ports_.prefix + std::to_string(ports_.first + port * ports_.step); }

std::string NextHopPlan::port_address(unsigned port, Family family) {
  return host_on(port, 1, family) + (family == Family::V4 ? "/24" : "/64");
}

}  // namespace rondo::feed
