// baseline.h: the fastest known way to give routes to this kernel. It sends the same messages as OrderSender, in the same order and
// batches, but encodes them beforehand and sends them in a bare loop. Its rate is the upper bound of the machine; benchmarks compare with
// it in the same run.
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

struct BaselineOptions {
  std::string network_namespace{};  // See LinuxDataPlaneOptions.
  std::uint32_t table = kMainTable;
  std::uint32_t metric = 201;
  std::uint8_t protocol = 202;  // Differs from the data plane's protocol, so that its audits ignore these routes.
  std::size_t batch = 256;
  bool remove = false;  // Deletes the routes instead of programming them.
};

struct BaselineResult {
  std::size_t routes = 0;
  std::size_t failed = 0;  // Routes that the kernel refused: expected to be 0.
  Duration wall{0};        // Only in the two system calls of a batch.
  Duration cpu{0};         // CPU time of this thread in the same intervals.
  double routes_per_second() const noexcept;
};

/// Programs the routes, each with its next hop, which must exist. Blocks: 1 to 3 us a route. Encodes the messages of a batch outside the
/// measured time. Leaves the routes in the kernel; call it again with 'remove' to delete them.
Result<BaselineResult> run_netlink_baseline(std::span<const std::pair<Prefix, NexthopId>> routes, const BaselineOptions& options);

}  // namespace rondo::netlink
