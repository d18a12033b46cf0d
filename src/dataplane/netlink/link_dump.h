// link_dump: reads all devices of a namespace, without their statistics. The data plane's links() and the monitor's resync use it.
#pragma once

#include <vector>

#include "dataplane/netlink/decode.h"
#include "dataplane/netlink/dump.h"

namespace rondo::netlink {

Result<std::vector<LinkState>> dump_links(DumpChannel& channel, std::uint8_t protocol = 0);

}  // namespace rondo::netlink
