// FrrReport: the figures of a run of rondod beside FRR.
#pragma once

#include <cstdint>
#include <string>

#include "rondo/base/metrics.h"
#include "rondo/base/time.h"

namespace rondo::demo {

struct FrrReport {
  std::uint64_t routes = 0;
  std::uint64_t verified_equal = 0;    // With the right next hops, in the kernel.
  double load_seconds = 0;             // From the start of the box's router until every route was in the kernel.
  Histogram load_ns;                   // From the arrival of the route's BGP message to the kernel's notification, while all arrive.
  double routes_per_second = 0;        // From rondod's first to its last route of the load in the kernel.
  double zebra_routes_per_second = 0;  // The same of zebra, which installs the same routes in the same run.
  Duration last_behind_zebra{0};       // From zebra's last route of the load to rondod's last one.
  Histogram single_ns;                 // The same of routes that arrive alone.
  Histogram behind_zebra_ns;           // From zebra's own route in the kernel to rondod's.
  std::uint64_t needless_changes = 0;  // Notifications about rondod's routes and next hops while rondod was killed and started again.
  std::uint64_t packets_at_restart = 0;
  std::uint64_t packets_lost_at_restart = 0;
  Duration reconciled{0};  // From the kill until zebra had sent everything again.
  Duration failover{0};    // From the pull of a cable until packets to each destination were answered again.
  std::uint64_t packets_lost_at_failover = 0;
  bool is_right() const noexcept { return routes > 0 && verified_equal == routes && needless_changes == 0 && packets_lost_at_restart == 0; }
};

std::string to_text(const FrrReport& report);
std::string to_json(const FrrReport& report);

}  // namespace rondo::demo
