// verify: compares the kernel's content with the feed, row by row: every prefix, its group, and every member of every group by gateway,
// port and weight. It compares what next-hop numbers refer to, not the numbers.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "feed/next_hops.h"
#include "feed/route.h"
#include "rondo/base/result.h"
#include "rondo/dataplane/dataplane.h"

namespace rondo::demo {

/// The content that was read from the kernel.
struct KernelState {
  std::vector<RouteEntry> routes;
  std::vector<NexthopEntry> nexthops;
  std::function<std::string(IfIndex)> port_name;
};

struct Comparison {
  std::size_t asked = 0;
  std::size_t equal = 0;
  std::size_t missing = 0;
  std::size_t unasked = 0;  // In the kernel, but not in the feed.
  std::size_t wrong_group = 0;
  std::size_t wrong_members = 0;      // Groups whose members differ.
  std::vector<std::string> examples;  // The first few differences, as text for operators.
  bool all_equal() const noexcept { return equal == asked && unasked == 0 && wrong_members == 0; }
};

/// Compares with the last entry of 'routes' for each prefix. O(n log n).
Comparison compare(std::span<const feed::Route> routes, const feed::NextHopPlan& plan, KernelState kernel);

/// The same prefix in the data plane's type.
rondo::Prefix to_dataplane(const feed::Prefix& prefix);

/// Reads the kernel of this process's namespace.
Result<KernelState> read_kernel(DataPlane& plane);

}  // namespace rondo::demo
