// Worker: `rondo worker`. It offers the commands of its configuration to a server, carries out the runs that the server gives it, and
// reports what became of them. One thread, one loop around poll(2). Runs go on while the server is away.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "rondo/base/clock.h"
#include "worker/command_line.h"
#include "worker/config.h"
#include "worker/link.h"
#include "worker/output_lines.h"
#include "worker/process.h"
#include "worker/report.h"
#include "worker/run_logs.h"
#include "worker/run_records.h"

namespace rondo::worker {

/// A worker that has nothing to report reports that: a server counts it as silent after 30 s.
inline constexpr Duration kHeartbeat = 10s;

/// A command that runs.
struct RunningCommand {
  RunOrder order;
  bool is_foreign = false;                  // The server has another run with its number. Its end is reported to none.
  std::shared_ptr<const CommandRule> rule;  // As it was when the command began.
  Process process;
  OutputLines lines = {};
  unsigned percent = 0;
  std::string progress = {};
  std::uint64_t progress_version = 0;
  std::uint64_t progress_reported = 0;
  bool is_start_reported = false;
  std::string result = {};
  std::int64_t begun_ms = 0;
  std::optional<Status> stopped = {};   // Why it was asked to end.
  Instant deadline = Instant::never();  // Then it is asked to end.
  Instant kill_at = Instant::never();
};

/// A server's question about a log.
struct LogQuestion {
  std::int64_t request = 0;
  std::int64_t run = 0;
  std::string key = {};  // As RunOrder::key; empty: of any.
  std::uint64_t from = 0;
  std::size_t bytes = 0;
  Instant until;  // Then it is answered, even without data.
};

class Worker {
 public:
  /// Takes the state folder, and kills what is left of an earlier worker's commands. 'log' must outlive it.
  static Result<std::unique_ptr<Worker>> open(WorkerConfig config, std::vector<Connect> servers, Log& log);
  /// Ok, or why open() would refuse a configuration that was read, as far as this user can check it without a change.
  static Status check(const WorkerConfig& config);
  /// Works until 'signals' (a signalfd) has SIGTERM or SIGINT. Then it ends its commands, hands back the runs that it has not begun,
  /// reports that if a server is there, and returns. 'on_hangup' is called at SIGHUP.
  void run(int signals, const std::function<void()>& on_hangup);
  /// Takes over the commands and places of a configuration that was read again. Commands that run go on by their old rules. Everything else
  /// in [worker] needs a restart; a difference is logged. An error changes nothing.
  Status reconfigure(WorkerConfig config);

 private:
  Worker(WorkerConfig config, std::vector<Connect> servers, RunRecords records, RunLogs logs, Log& log);
  /// A command with what its rule needs at run time.
  struct AllowedCommand {
    std::shared_ptr<const CommandRule> rule;
    std::optional<UserIds> user;
  };
  using AllowedCommands = std::map<std::string, AllowedCommand, std::less<>>;
  /// Looks up the users.
  static Result<AllowedCommands> allow(const WorkerConfig& config);
  void take_over(std::vector<RunRecord> records);

  // --- orders
  boost::json::object hello();
  /// Adds the ends that the server has not heard of to 'runs', as many as it takes. Returns whether there are more.
  bool name_ends(boost::json::array& runs);
  /// Keeps a record that no server takes for people to see, and reports it no more.
  void set_aside(std::int64_t run, std::string_view why);
  boost::json::array offers() const;
  void take_order(std::string_view kind, const boost::json::object& order);
  void start(const RunOrder& order);
  /// A run while the command of another run with its number has not ended: stops the command, and refuses the run.
  void refuse_beside(RunningCommand& running, const RunOrder& order);
  /// Why the run is not taken at present: there is no room for it, or its command is not offered any more.
  Status refusal(const RunOrder& order) const;
  /// 'is_written': false if the begin of the run could not be written down, so that nothing was executed.
  Status try_start(const RunOrder& order, bool& is_written);
  void stop(RunningCommand& running, Status why);
  void ask_log(const boost::json::object& order);
  /// Checks parameters of a job that is not stored yet. The next report has the answer.
  void check_parameters(const boost::json::object& order);
  /// Logs, once for each connection and kind of order, that a member of an order is no number.
  void note_malformed(std::string_view kind, std::string_view member);

  // --- runs
  void read_output(RunningCommand& running, std::size_t most);
  void finish(std::int64_t run);
  /// Reaps processes that commands have left behind: this process is their reaper, see the action `worker`. Never takes the end of a
  /// command that runs.
  void reap_orphans();
  static Status status_of(const RunningCommand& running, const ProcessEnd& end);
  void end_run(RunRecord record);
  /// The server knows the end, or does not want it.
  void forget_end(std::int64_t run);
  void watch_times(Instant now);
  /// True if the state can be written, at its time. While it cannot, the worker takes no runs, and the server knows why.
  void check_disk(Instant now);
  /// Writes the ends that are not on the disk. Returns the error of the first that cannot be written.
  Status write_ends();
  /// The same, but now.
  void check_disk_again();

  // --- reports
  void report(Instant now);
  void add_runs(WorkerReport& made, Instant now);
  /// For how long a command has run, or ran until now, in milliseconds.
  std::string age_of(std::int64_t begun_ms) const;
  void add_logs(WorkerReport& made, Instant now);
  void add_checked(WorkerReport& made);
  void report_taken(const boost::json::object& answer);

  bool is_over(Instant now) const;
  Instant next_time(Instant now) const;
  void wait(int signals, const std::function<void()>& on_hangup);
  void begin_end();

  WorkerConfig config_;  // Of what it had at the start, reconfigure() changes 'places' alone; 'commands' is empty: see allowed_.
  const std::string name_;
  SystemClock clock_;
  RunRecords records_;
  RunLogs logs_;
  Log& log_;
  const std::string boot_;
  AllowedCommands allowed_;
  bool has_new_offers_ = false;  // The next report has them.
  std::map<std::int64_t, RunningCommand> running_;
  std::map<std::int64_t, RunRecord> ended_;  // Whose end no server has stored.
  std::set<std::int64_t> unnamed_;           // Of them, those that this server has not heard of: see name_ends().
  std::size_t taken_over_ = 0;               // Ends that were there at the start.
  std::set<std::int64_t> unwritten_;         // Of them, those whose end is not on the disk. check_disk() writes them again.
  std::set<std::int64_t> unstored_;          // Ends that the server received but did not store. Reported again at repeat_at_.
  Instant repeat_at_;
  std::deque<LogQuestion> questions_;
  std::deque<std::pair<std::int64_t, Status>> checked_;  // Answers to checks that are not reported yet, by number of the request.
  std::set<std::string, std::less<>> malformed_;         // Orders, and "unstored", of which this was logged.
  /// What the report under way says, for its acknowledgement.
  struct Reported {
    std::vector<std::int64_t> started;
    std::vector<std::pair<std::int64_t, std::uint64_t>> progress;
    std::vector<std::pair<std::int64_t, std::uint32_t>> ended;
  } reported_;
  Instant last_report_;
  Link link_;
  Status link_trouble_;           // Already logged.
  std::string trouble_ = {};      // Of the state on the disk. Empty: it can be written.
  bool has_new_trouble_ = false;  // The next report has it.
  Instant next_check_;            // Of the disk.
  bool is_ending_ = false;
  bool has_left_ = false;  // The server has taken that it ends, and all starts that it sent before are here.
  Instant give_up_ = Instant::never();
};

}  // namespace rondo::worker
