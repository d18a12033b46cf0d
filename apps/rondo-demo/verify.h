// verify: compares what the kernel has with what was asked, row by row: every prefix, its group, and every member of every group by
// gateway, port and weight. Numbers of next-hop objects are followed, not trusted.
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

/// What was read back.
struct KernelState {
  std::vector<RouteEntry> routes;
  std::vector<NexthopEntry> nexthops;
  std::function<std::string(IfIndex)> port_name;
};

struct Comparison {
  std::size_t asked = 0;
  std::size_t equal = 0;
  std::size_t missing = 0;
  std::size_t unasked = 0;  // In the kernel, but not asked for.
  std::size_t wrong_group = 0;
  std::size_t wrong_members = 0;      // Groups whose members differ.
  std::vector<std::string> examples;  // The first few differences, for people.
  bool all_equal() const noexcept { return equal == asked && unasked == 0 && wrong_members == 0; }
};

/// The last word of 'routes' about each prefix counts. O(n log n).
Comparison compare(std::span<const feed::Route> routes, const feed::NextHopPlan& plan, KernelState kernel);

/// The same prefix as the data plane writes it.
rondo::Prefix to_dataplane(const feed::Prefix& prefix);

/// Reads the kernel of this process's namespace.
Result<KernelState> read_kernel(DataPlane& plane);

}  // namespace rondo::demo
