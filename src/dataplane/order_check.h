// check_order: finds errors that an order has in any state of the kernel. The kernel accepts some of them (a blackhole with a next hop,
// next-hop id 0 as "choose one") with an unintended effect. No data plane passes them on. Pure; any thread.
#pragma once

#include "rondo/dataplane/op.h"

namespace rondo {

/// Returns Ok, or InvalidArgument with EINVAL and the reason.
Status check_order(const Order& order);

}  // namespace rondo
