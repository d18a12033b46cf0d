// floor: what this machine can do at most, measured in the same run: the same routes in the same order, in the same batches, by a bare
// rtnetlink loop in a namespace of its own.
#pragma once

#include <span>

#include "feed/next_hops.h"
#include "feed/route.h"
#include "rondo/base/result.h"

namespace rondo::demo {

/// Routes a second. Call while this process has no other threads: the loop runs in a child process.
Result<double> measure_floor(std::span<const feed::Route> routes, const feed::NextHopPlan& plan);

}  // namespace rondo::demo
