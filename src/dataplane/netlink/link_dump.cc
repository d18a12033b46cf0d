// link_dump.cc: see link_dump.h.
#include "dataplane/netlink/link_dump.h"

#include <linux/if_link.h>

#include <utility>

namespace rondo::netlink {

Result<std::vector<LinkState>> dump_links(DumpChannel& channel, std::uint8_t protocol) {
  std::vector<LinkState> links;
  Status status = channel.run({.request =
                                   [](MessageWriter& writer, std::uint32_t sequence) {
                                     writer.begin(RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, sequence, ifinfomsg{});
                                     writer.attribute(IFLA_EXT_MASK, std::uint32_t{RTEXT_FILTER_SKIP_STATS});
                                   },
                               .restart = [&links] { links.clear(); },
                               .visit =
                                   [&links, protocol](const Message& message) {
                                     if (auto link = decode_link(message, protocol)) links.push_back(std::move(*link));
                                   }});
  if (!status.ok()) return failure(status.with_context("read the devices"));
  return links;
}

}  // namespace rondo::netlink
