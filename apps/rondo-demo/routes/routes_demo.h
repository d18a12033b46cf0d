// RoutesDemo: the main job. It starts a testbed with eight ports and a rondod. It feeds a full routing table in the hardest order (routes
// first, then what they need), while it pulls and plugs a cable. Then it compares the kernel's table row by row and prints the figures.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "feed/feed.h"
#include "feed/route.h"
#include "rondo-demo/jobs/executors_load.h"
#include "rondo-demo/measurement/link_event_log.h"
#include "rondo-demo/measurement/verify.h"
#include "rondo-demo/output/report.h"
#include "rondo-demo/testbed/console.h"
#include "rondo-demo/testbed/daemon_process.h"
#include "rondo-demo/testbed/flapper.h"
#include "rondo-demo/testbed/redis_process.h"
#include "rondo-demo/testbed/testbed.h"
#include "rondo/admin/client.h"
#include "rondo/base/clock.h"
#include "rondo/dataplane/dataplane.h"

namespace rondo::demo {

struct RoutesOptions {
  std::vector<std::string> files;
  std::uint64_t ipv4 = 1'000'000;
  std::uint64_t ipv6 = 200'000;
  std::uint64_t seed = 1;
  bool sorted = false;
  bool exit = false;
  bool simulated = false;
  bool redis = false;
  bool baseline = true;
  unsigned flap_ms = 100;
  unsigned flap_port = feed::kPorts;  // The spare port.
  std::uint64_t flap_routes = 0;      // Withdrawn and announced again at the end; 0: none.
  unsigned job_runs = 0;              // A second, beside the sample jobs.
  std::size_t executors = 0;          // Where those are carried out; 0: in rondod.
  std::optional<std::size_t> reserve_mib;
  std::string json_path;
  std::string journal_path;
  std::string rondod;
};

class RoutesDemo {
 public:
  explicit RoutesDemo(RoutesOptions options) : options_(std::move(options)) {}
  Status run();
  const Report& report() const noexcept { return report_; }
  /// Serves until a signal. Unavailable if rondod ends before.
  Status serve();

 private:
  Status prepare_routes();
  Status prepare_box();
  Status start_jobs();
  Status start_flapping();
  std::string flapping_port() const { return plan_->port_name(options_.flap_port); }
  Status set_carrier(bool up);
  Status feed(std::span<const feed::Route> routes, const feed::Parts& parts);
  Status feed_routes();
  Status feed_the_rest();
  Result<boost::json::object> stats();
  struct Progress {
    std::uint64_t programmed = 0;
    std::uint64_t parked = 0;
    std::uint64_t queued = 0;
    std::uint64_t in_flight = 0;
    std::uint64_t orders = 0;
    std::uint64_t usable_groups = 0;
    std::uint64_t port_events = 0;
    double port_p99_us = 0;
  };
  std::uint64_t shown_ = 0;
  Instant shown_at_;
  Result<Progress> progress();
  void show(const char* phase, const Progress& progress, bool stays);
  Status watch(const char* phase, const std::function<bool(const Progress&)>& is_done);
  Status collect_figures();
  Result<PortEvents> collect_port_events();
  Status flap_routes();
  Result<RouteFlap> route_figures();
  Status verify();
  Result<KernelState> read_simulated();

  RoutesOptions options_;
  SystemClock clock_;
  std::unique_ptr<feed::NextHopPlan> plan_;
  std::vector<feed::Route> routes_;
  std::uint64_t asked_ = 0;
  std::unique_ptr<RedisProcess> redis_;       // Only with --store redis; destroyed after the daemon.
  std::unique_ptr<ExecutorsLoad> executors_;  // Null without; destroyed after the daemon, which waits for their runs.
  std::optional<Console> console_;            // Empty with executors; destroyed after the daemon.
  std::unique_ptr<DaemonProcess> daemon_;
  std::unique_ptr<AdminClient> client_;
  std::unique_ptr<AdminClient> flap_client_;  // Only with the simulated data plane.
  std::unique_ptr<Testbed> testbed_;          // Only with the real kernel.
  std::unique_ptr<DataPlane> plane_;          // Only with the real kernel: reads it.
  std::unique_ptr<DataPlane> far_plane_;      // Only with the real kernel: moves the cable from its other end.
  IfIndex far_end_;
  std::unique_ptr<LinkEventLog> link_events_;  // Only with the real kernel.
  std::unique_ptr<Flapper> flapper_;
  Report report_;
};

}  // namespace rondo::demo
