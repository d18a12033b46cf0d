#include "fpm/answer.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>

#include "dataplane/netlink/message.h"
#include "fpm/frame_reader.h"
#include "rondo/base/assert.h"

namespace rondo::fpm {

void append_answer(std::string& stream, const Programmed& route, std::uint32_t vrf) {
  rtmsg header{};
  header.rtm_family = route.prefix.address.is_v6() ? AF_INET6 : AF_INET;
  header.rtm_dst_len = route.prefix.length;
  header.rtm_protocol = route.protocol;
  header.rtm_type = route.blackhole ? RTN_BLACKHOLE : RTN_UNICAST;
  header.rtm_flags = RTM_F_OFFLOAD;
  header.rtm_table = static_cast<unsigned char>(vrf < 256 ? vrf : 0);  // zebra expects the number of the VRF, not that of its table.
  std::array<std::byte, 64> buffer{};
  netlink::MessageWriter writer{buffer};
  writer.begin(RTM_NEWROUTE, NLM_F_REQUEST, 0, header);
  writer.attribute(RTA_DST, route.prefix.address.bytes().data(), route.prefix.address.size());
  if (vrf >= 256) writer.attribute(RTA_TABLE, vrf);
  const bool fits = writer.end();
  RONDO_ASSERT(fits);
  const std::size_t length = writer.bytes().size() + FrameReader::kHeader;
  stream += {1, static_cast<char>(kNetlinkFrame), static_cast<char>(length >> 8U), static_cast<char>(length & 255U)};
  stream.append(reinterpret_cast<const char*>(writer.bytes().data()), writer.bytes().size());
}

}  // namespace rondo::fpm
