// For tests: frames as zebra sends them, made by hand, and captured sessions from fuzz/corpus/fpm_stream.
#pragma once

#include <linux/nexthop.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/netlink/message.h"
#include "rondo/base/assert.h"
#include "rondo/dataplane/ip.h"

namespace rondo::fpm::kit {

using Bytes = std::string;

inline Prefix prefix(std::string_view text) { return Prefix::parse(text).value(); }
inline IpAddress address(std::string_view text) { return IpAddress::parse(text).value(); }

inline Bytes frame(std::string_view content, std::uint8_t type = 1, std::uint8_t version = 1) {
  const std::size_t length = content.size() + 4;
  Bytes bytes{static_cast<char>(version), static_cast<char>(type), static_cast<char>(length >> 8U), static_cast<char>(length & 255U)};
  return bytes.append(content);
}

/// One message; 'fill' adds its attributes.
template <class Header, class Fill>
Bytes message(std::uint16_t type, const Header& header, Fill fill) {
  std::array<std::byte, 32'768> buffer{};
  netlink::MessageWriter writer{buffer};
  writer.begin(type, 0x501, 0, header);
  fill(writer);
  const bool fits = writer.end();
  RONDO_ASSERT(fits);
  return {reinterpret_cast<const char*>(writer.bytes().data()), writer.bytes().size()};
}

inline void add_address(netlink::MessageWriter& writer, std::uint16_t type, const IpAddress& value) {
  writer.attribute(type, value.bytes().data(), value.size());
}

struct RouteSpec {
  std::uint32_t nexthop = 0;
  std::uint8_t type = RTN_UNICAST;
  std::uint8_t protocol = 186;
  std::uint32_t table = 254;
  std::vector<std::tuple<std::string, std::uint32_t, std::uint8_t>> paths = {};  // Gateway, device, hops as on the wire.
  std::pair<std::string, std::uint32_t> via = {};                                // The only next hop: gateway, device.
  bool onlink = false;                                                           // Of the next hops within the message.
  std::string source = {};
  std::uint32_t mtu = 0;
};

inline Bytes multipath(const RouteSpec& spec) {
  Bytes bytes;
  for (const auto& [gateway, device, hops] : spec.paths) {
    const IpAddress via = address(gateway);
    const std::size_t length = sizeof(rtnexthop) + sizeof(rtattr) + via.size();
    const unsigned char flags = spec.onlink ? RTNH_F_ONLINK : 0;
    const rtnexthop header{static_cast<unsigned short>(length), flags, hops, static_cast<int>(device)};
    const rtattr attribute{static_cast<unsigned short>(sizeof(rtattr) + via.size()), RTA_GATEWAY};
    bytes.append(reinterpret_cast<const char*>(&header), sizeof header).append(reinterpret_cast<const char*>(&attribute), sizeof attribute);
    bytes.append(reinterpret_cast<const char*>(via.bytes().data()), via.size());
  }
  return bytes;
}

inline Bytes route(std::string_view to, const RouteSpec& spec = {}, std::uint16_t type = RTM_NEWROUTE) {
  const Prefix destination = prefix(to);
  rtmsg header{};
  header.rtm_family = destination.address.is_v6() ? AF_INET6 : AF_INET;
  header.rtm_dst_len = destination.length;
  header.rtm_table = static_cast<unsigned char>(spec.table < 256 ? spec.table : 0);
  header.rtm_protocol = spec.protocol;
  header.rtm_type = type == RTM_DELROUTE ? std::uint8_t{0} : spec.type;
  header.rtm_flags = spec.onlink ? RTNH_F_ONLINK : 0;
  return message(type, header, [&](netlink::MessageWriter& writer) {
    add_address(writer, RTA_DST, destination.address);
    writer.attribute(RTA_PRIORITY, std::uint32_t{20});
    if (spec.table >= 256) writer.attribute(RTA_TABLE, spec.table);
    if (type == RTM_DELROUTE) return;
    if (spec.nexthop != 0) writer.attribute(RTA_NH_ID, spec.nexthop);
    if (!spec.source.empty()) add_address(writer, RTA_PREFSRC, address(spec.source));
    if (!spec.via.first.empty()) {
      add_address(writer, RTA_GATEWAY, address(spec.via.first));
      writer.attribute(RTA_OIF, spec.via.second);
    }
    if (spec.mtu != 0) {
      const std::size_t metrics = writer.open_nested(RTA_METRICS);
      writer.attribute(RTAX_MTU, spec.mtu);
      writer.close_nested(metrics);
    }
    if (!spec.paths.empty()) {
      const Bytes paths = multipath(spec);
      writer.attribute(RTA_MULTIPATH, paths.data(), paths.size());
    }
  });
}
inline Bytes no_route(std::string_view to, std::uint32_t table = 254) { return route(to, {.table = table}, RTM_DELROUTE); }

/// Without a gateway ("", or "::" for IPv6) the next hop is the device itself.
inline Bytes nexthop(std::uint32_t id, std::string_view gateway, std::uint32_t device, bool onlink = false) {
  nhmsg header{};
  header.nh_flags = onlink ? RTNH_F_ONLINK : 0;
  header.nh_family = gateway.find(':') == std::string_view::npos ? AF_INET : AF_INET6;
  header.nh_protocol = 11;
  return message(RTM_NEWNEXTHOP, header, [&](netlink::MessageWriter& writer) {
    writer.attribute(NHA_ID, id);
    if (!gateway.empty() && gateway != "::") add_address(writer, NHA_GATEWAY, address(gateway));
    if (device != 0) writer.attribute(NHA_OIF, device);
  });
}

inline Bytes group(std::uint32_t id, const std::vector<std::pair<std::uint32_t, std::uint16_t>>& members) {
  return message(RTM_NEWNEXTHOP, nhmsg{}, [&](netlink::MessageWriter& writer) {
    std::vector<nexthop_grp> entries;
    for (const auto& [member, weight] : members) {
      nexthop_grp entry{};
      entry.id = member;
      entry.weight = static_cast<std::uint8_t>(weight - 1);
      reinterpret_cast<unsigned char*>(&entry)[offsetof(nexthop_grp, weight) + 1] = static_cast<unsigned char>((weight - 1) >> 8U);
      entries.push_back(entry);
    }
    writer.attribute(NHA_ID, id);
    writer.attribute(NHA_GROUP, entries.data(), entries.size() * sizeof(nexthop_grp));
  });
}

inline Bytes no_nexthop(std::uint32_t id) {
  return message(RTM_DELNEXTHOP, nhmsg{}, [&](netlink::MessageWriter& writer) { writer.attribute(NHA_ID, id); });
}

/// A session that was captured from FRR; tests run in the root of the sources.
inline Bytes captured(const std::string& name) {
  std::ifstream file("fuzz/corpus/fpm_stream/" + name, std::ios::binary);
  RONDO_ASSERT(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace rondo::fpm::kit
