// Executors: gives runs of jobs to executors of xxl-job and Orth, over HTTP. A job with the handler "executor/GROUP/NAME" runs the job
// handler NAME at an executor that has registered for GROUP, or whose address the settings name.
//   Executors executors(runtime, jobs, settings, [&](http::ClientRequest request, http::CallDone done) {
//     return http->call(std::move(request), std::move(done));
//   });
//   options.server->body_limit = executors.body_limit();
//   http = http::HttpThread::start(runtime.scheduler(), options, executors.door()).value();
//
// A run is sent to an executor after the store has its address. It ends with the executor's callback, whose answer follows the storing of
// the end. If that fails or takes too long, the answer has the code 500. So an executor that repeats callbacks until the answer has the
// code 200 loses none. The result of a shard of a broadcast is not stored before the others: after a restart it counts as lost. After a
// restart of this program, runs that executors have are linked by their callbacks, and are not sent again. A run that was certainly not
// sent, because there was no connection, goes to another executor without using an attempt. A run of which nothing is known any more fails
// after a while, and is retried by the rules of its job:
//   - The executor did not answer the order, and calls back nothing for ExecutorSettings::silent.
//   - The executor says twice, with 'probe' between, that it does nothing for the job: its process was started again.
//   - The executor has sent no beat for 'away'.
//   - It was killed, or its time was over, and the executor calls back nothing for 'stopping'.
//
// Threads: the runtime's. What door() and body_limit() return is called on the HTTP thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "http/http_thread.h"
#include "jobs/executors/door.h"
#include "jobs/executors/limits.h"
#include "rondo/admin/command.h"
#include "rondo/base/metrics.h"
#include "rondo/jobs/jobs.h"
#include "rondo/orch/runtime.h"

namespace rondo::jobs::executors {

struct ExecutorSettings {
  std::vector<ExecutorGroup> groups;
  /// Called about calls that were refused, at most once in ten seconds; for a log. Empty: none.
  std::function<void(const std::string& what)> on_refused = {};
  std::vector<Prefix> networks;  // Where executors may be.
  Duration beat{90s};            // An executor that has not registered for this time gets no run.
  Duration call{10s};            // For the answer to an order.
  Duration silent{60s};          // See above.
  Duration away{600s};           // See above.
  Duration probe{60s};           // See above.
  Duration starved{60s};         // See health().
  Duration stopping{10s};        // See above.
  Duration stored_wait{5s};      // The longest time for which the answer to a callback waits for the store. Then it is a failure.
  /// Orders without an answer, of all groups. Jobs whose orders take long have a lane of their own, by JobsOptions::slow_run and slow_runs:
  /// the rule of Orth's pools, and their sizes. Further orders wait, by priority.
  std::size_t fast_lane = 200;
  std::size_t slow_lane = 100;
  /// The same of one address, so that a slow executor leaves room for the others. An executor with as many is passed over, except by the
  /// routes that name one executor: first, last and consistent-hash.
  std::size_t in_flight_of_address = limits::kExecutorOrders;
};

/// Since the start.
struct ExecutorStats {
  std::uint64_t dispatched = 0;  // Orders that executors accepted.
  std::uint64_t refused = 0;     // Orders that executors refused.
  std::uint64_t unsent = 0;      // Orders that were not sent, because there was no connection.
  // From an order to its answer, in nanoseconds:
  Log2Histogram accepted_ns;
  Log2Histogram refused_ns;
  Log2Histogram unsent_ns;
  Log2Histogram unanswered_ns;      // The executor may have the run.
  std::uint64_t callbacks = 0;      // Results that ended a run or a part of it.
  std::uint64_t late = 0;           // Results of runs that have ended, are not at this executor, or are unknown.
  std::uint64_t lost = 0;           // Runs that ended without a result.
  std::uint64_t refused_calls = 0;  // Calls of executors with a wrong token, or malformed.
  std::uint64_t linked = 0;         // Runs that executors had before the start.
};

class Executors {
 public:
  using Call = std::function<Status(http::ClientRequest request, http::CallDone done)>;

  /// 'runtime' and 'jobs' must outlive it. 'call' sends a request, as HttpThread::call(). Construct it before Jobs::start().
  Executors(Runtime& runtime, Jobs& jobs, ExecutorSettings settings, Call call);
  /// Leaves the runs at the executors open: they are linked after the next start. HttpThread::stop() must have returned.
  ~Executors();
  Executors(const Executors&) = delete;
  Executors& operator=(const Executors&) = delete;

  /// What answers the requests of executors on the HTTP thread. This must outlive that thread.
  http::GateHandler door();
  /// The option of the server for the bodies that executors send: ServerOptions::body_limit.
  http::BodyLimit body_limit();
  /// `executors` and `executor-drain`. This must outlive the server that uses 'registry'.
  Status add_commands(CommandRegistry& registry);
  /// Answers the command job-log for a run that is or was at executors: with the bytes from 'from' on, which the executor 'address' has, or
  /// the first one. False: it is at none, and 'reply' was not used.
  bool read_log(const JobRun& run, std::int64_t from, bool wait, const std::string& address, const Reply& reply);
  const ExecutorStats& stats() const noexcept;
  /// The executors of each group by state: {up, draining, broken}. Empty at a standby, which knows none. O(executors).
  boost::json::object counts() const;
  /// Ok, or which executors do not answer, and for which groups runs have waited for a minute because no executor can take one.
  Status health() const;
  /// The last call that was refused, for people; empty: none was within ExecutorSettings::beat.
  std::string refusal() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo::jobs::executors
