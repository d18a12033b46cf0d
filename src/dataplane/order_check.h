// check_order: what is wrong with an order whatever the state of the kernel. The kernel takes some of it (a blackhole with a next hop,
// next-hop id 0 as "choose one"), and what it would do is never what was meant; so no data plane passes it on. Pure; any thread.
#pragma once

#include "rondo/dataplane/op.h"

namespace rondo {

/// Ok, or InvalidArgument with EINVAL and the reason.
Status check_order(const Order& order);

}  // namespace rondo
