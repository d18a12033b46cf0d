// ExecutorsLoad: the executors of `rondo-demo jobs --executors`, as processes on loopback, and what happens to them during the load: the
// first one is killed, the second one hangs, and the third one is drained and used again. At the end it counts from their logs which order
// arrived where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rondo-demo/jobs/executor_process.h"
#include "rondo-demo/jobs/jobs_report.h"
#include "rondo-demo/testbed/daemon_process.h"
#include "rondo/admin/client.h"
#include "rondo/base/result.h"

namespace rondo::demo {

class ExecutorsLoad {
 public:
  static constexpr std::size_t kLeast = 3;
  /// The handler of the jobs.
  static constexpr const char* kHandler = "executor/demo/work";

  /// Starts 'count' executors of the group "demo" of 'daemon', and waits until it may give runs to all of them. They write their logs into
  /// its directory. They also know 'standbys', which have the same token.
  static Result<std::unique_ptr<ExecutorsLoad>> start(std::size_t count, const DaemonProcess& daemon, AdminClient& rondod,
                                                      const std::vector<std::unique_ptr<DaemonProcess>>& standbys = {});

  Status drain_one(AdminClient& rondod);
  /// Also counts the orders that it got while it was drained.
  Status resume_one(AdminClient& rondod);
  void kill_one() { executors_[0]->kill(); }
  void hang_one() { executors_[1]->hang(); }
  /// Adds the results that this process of rondod has taken so far. Call it once for each process, near its end.
  Status count_callbacks(AdminClient& rondod);
  /// Continues the one that hangs, and ends all of them.
  void stop();
  /// 'attempts': of each run of the load, the attempts that have ended.
  ExecutorsReport report(const std::map<std::int64_t, std::uint32_t>& attempts) const;

 private:
  ExecutorsLoad() = default;
  Status wait_for_registration(AdminClient& rondod) const;
  const ExecutorProcess& drained() const { return *executors_[2]; }

  std::vector<std::unique_ptr<ExecutorProcess>> executors_;
  std::size_t orders_before_drain_ = 0;
  std::uint64_t orders_while_drained_ = 0;
  std::uint64_t callbacks_ = 0;
};

}  // namespace rondo::demo
