// link_dump: all devices of a namespace, without their statistics. Used by the data plane's links() and by the monitor's resync.
#pragma once

#include <vector>

#include "dataplane/netlink/decode.h"
#include "dataplane/netlink/dump.h"

namespace rondo::netlink {

Result<std::vector<LinkState>> dump_links(DumpChannel& channel);

}  // namespace rondo::netlink
