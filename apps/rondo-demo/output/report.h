// Report: the figures of one run, as text and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "rondo-demo/measurement/verify.h"
#include "rondo/base/metrics.h"
#include "rondo/base/status.h"

namespace rondo::demo {

/// How long rondod took for the moves of one port's cable.
struct PortEvents {
  Histogram handled_ns;  // From the kernel's announcement to rondod's handler.
  Histogram cable_ns;    // From the cable's move, so it includes the kernel's work before its announcement.
  std::uint64_t count = 0;
  std::uint64_t unseen = 0;
};

/// Routes that are withdrawn and announced again, several times, while a port that carries some of them fails.
struct RouteFlap {
  std::uint64_t routes = 0;
  std::uint64_t rounds = 0;
  std::uint64_t written = 0;   // Rows: a withdrawal and an announcement of each route in each round.
  std::uint64_t done = 0;      // Rows that are done; the others were superseded by a newer row of their key.
  std::uint64_t turns = 0;     // Turns of the table of routes.
  double longest_turn_us = 0;  // The longest of these turns since the start.
  PortEvents ports;
  double seconds = 0;

  std::uint64_t superseded() const noexcept { return written > done ? written - done : 0; }
};

struct Report {
  std::string dataplane;
  std::uint64_t routes = 0;
  Comparison comparison;
  double feed_rows_per_second = 0;
  double routes_per_second = 0;  // From the first order to the data plane to its last answer.
  std::optional<double> baseline_per_second;
  PortEvents ports;
  std::optional<RouteFlap> flap;
  double longest_turn_us = 0;
  double longest_turn_cpu_us = 0;  // The CPU time of that turn, at most.
  std::string longest_turn_of;     // The source of that turn.
  std::uint64_t turns = 0;
  std::uint64_t long_turns = 0;  // Above 5 ms.
  std::uint64_t peak_rss_bytes = 0;
  std::uint64_t parked_peak = 0;
  double resolve_us = 0;  // Longest time from an announced fact to the first turn of a row that waited for it.
  std::uint64_t retried = 0;
  std::uint64_t put_back = 0;
  std::uint64_t sweep_rescues = 0;
  std::uint64_t sample_runs = 0;  // Runs of the sample jobs that were beside the routes; 0: there were none.
  double sample_late_us = 0;      // The 99th percentile of their lateness.
  double seconds = 0;
};

std::string to_text(const Report& report);
std::string to_json(const Report& report);
Status write_json(const Report& report, const std::string& path);

}  // namespace rondo::demo
