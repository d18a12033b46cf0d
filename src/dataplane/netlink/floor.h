// floor.h: the fastest known way to hand routes to this kernel - the same messages, in the same order and batches as OrderSender sends
// them, written down beforehand and sent in a bare loop. What the machine can do at most; everything else is compared with it, in the same
// run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "rondo/dataplane/op.h"

namespace rondo::netlink {

struct FloorOptions {
  std::string network_namespace{};  // As in LinuxDataPlaneOptions.
  std::uint32_t table = kMainTable;
  std::uint32_t metric = 20;
  std::uint8_t protocol = 202;  // Not the data plane's, so that its audits do not see these routes.
  std::size_t batch = 256;
  bool remove = false;  // Deletes the routes instead of programming them.
};

struct FloorResult {
  std::size_t routes = 0;
  std::size_t failed = 0;  // Routes the kernel refused: expected to be 0.
  Duration wall{0};        // In the two system calls of a batch only.
  Duration cpu{0};         // Of this thread, in the same intervals.
  double routes_per_second() const noexcept;
};

/// Programs the routes, each by its next hop, which must exist. Blocks: 1 to 3 us a route. The messages of a batch are written down outside
/// the measured time. Leaves the routes there; call it again with 'remove' to take them away.
Result<FloorResult> run_netlink_floor(std::span<const std::pair<Prefix, NexthopId>> routes, const FloorOptions& options);

}  // namespace rondo::netlink
