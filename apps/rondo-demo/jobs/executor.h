// Executor: an executor in the protocol of xxl-job that does no work, for the demonstration and the benchmarks. It registers at a
// scheduler, takes runs of the handler "work", lets each take a fixed time, and reports its success. It answers as the Java client does.
//
// Each order that arrives is appended to a file as a line with its log id, also a repeated one. So after a crash of any process a reader of
// the files can count which log id arrived twice, at one executor or at several.
//
// Threads: the scheduler's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/json.h"
#include "base/unique_fd.h"
#include "http/client.h"
#include "http/server.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/timer.h"

namespace rondo::demo {

struct ExecutorOptions {
  /// Its URL, such as "http://127.0.0.1:8700". Several are separated by commas, as in xxl-job: calls go to the one that accepted the last
  /// call, and after a failure to the next one.
  std::string scheduler;
  std::string group;
  std::string token = {};     // Empty: none.
  std::string log_path = {};  // Empty: orders are not logged.
  std::uint16_t port = 0;     // 0: any free port.
  Duration work{0};           // From the order to its end. 0: the result follows immediately.
  Duration beat{3s};          // Between two registrations.
  bool answers_runs = true;   // False: it accepts connections, and never answers an order.
};

/// Since the start.
struct ExecutorFigures {
  std::uint64_t accepted = 0;   // Orders.
  std::uint64_t repeated = 0;   // Orders that were refused, because their log id had arrived before.
  std::uint64_t reported = 0;   // Results that the scheduler has taken.
  std::uint64_t callbacks = 0;  // Requests with results that the scheduler has answered with success.
};

class Executor {
 public:
  /// Listens at 127.0.0.1, and registers for the first time. 'scheduler' must outlive it. The error of the server, the client or the log.
  static Result<std::unique_ptr<Executor>> open(Scheduler& scheduler, ExecutorOptions options);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// "http://127.0.0.1:4242".
  const std::string& address() const noexcept { return address_; }
  const ExecutorFigures& figures() const noexcept { return figures_; }
  /// Takes leave of the scheduler, and calls 'done' when that has answered or failed. Runs that have not ended have no result.
  void leave(std::function<void()> done);

 private:
  struct Run {
    std::int64_t job;
    std::int64_t log_id;
  };
  struct Ended {
    std::int64_t log_id;
    bool was_killed;
  };

  Executor(Scheduler& scheduler, ExecutorOptions options);
  Status listen();
  void handle(const http::Request& request, http::Answer answer);
  void take_run(const json::object& order, http::Answer answer);
  void kill(std::int64_t job);
  void send_log(const json::object& request, http::Answer answer) const;
  bool is_busy_with(std::int64_t job) const;
  void end_due_runs();
  void register_here();
  /// Sends the next results, unless a request with results is under way.
  void report();
  Status post(std::string_view path, std::string body, http::CallDone done);

  Scheduler& scheduler_;
  const ExecutorOptions options_;
  std::vector<std::string> schedulers_;
  std::size_t at_ = 0;  // The scheduler that gets the next call.
  std::string address_;
  UniqueFd log_;
  std::unordered_set<std::int64_t> seen_;
  std::multimap<Instant, Run> runs_;  // By their end.
  std::deque<Ended> results_;         // The scheduler has not taken them.
  std::deque<http::Answer> unanswered_;
  bool is_reporting_ = false;
  ExecutorFigures figures_;
  TimerSource work_timer_;
  TimerSource report_timer_;
  TimerSource beat_timer_;
  std::unique_ptr<http::Client> client_;
  std::unique_ptr<http::Server> server_;  // Last: it calls the others.
};

/// `rondo-demo executor`: an executor until SIGTERM or SIGINT, or the end of its parent process. Prints its address when it listens.
int executor_main(int argc, const char* const* argv);

}  // namespace rondo::demo
