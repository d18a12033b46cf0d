// baseline: measures the upper bound of this machine in the same run: a bare rtnetlink loop in a separate namespace programs the same
// routes in the same order and batches.
#pragma once

#include <span>

#include "feed/next_hops.h"
#include "feed/route.h"
#include "rondo/base/result.h"

namespace rondo::demo {

/// Returns routes a second. Call while this process has no other threads, because the loop runs in a child process.
Result<double> measure_baseline(std::span<const feed::Route> routes, const feed::NextHopPlan& plan);

}  // namespace rondo::demo
