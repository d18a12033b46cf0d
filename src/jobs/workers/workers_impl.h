// Workers::Impl: which worker offers which command, and which run is where. Scheduler thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/remote_runs.h"
#include "jobs/routing.h"
#include "jobs/workers/options.h"
#include "rondo/admin/caller.h"
#include "rondo/admin/command.h"
#include "rondo/jobs/jobs.h"
#include "rondo/jobs/workers.h"
#include "rondo/sched/timer.h"

namespace rondo::jobs {

/// Why a claim is refused.
inline constexpr const char* kNotGiven = "the run was not given to this worker";
inline constexpr const char* kOtherRun = "the run of this number is another one here, because the database was replaced";
inline constexpr const char* kNotUnderWay = "there is no run of this number under way here";

/// Why a worker gets no sharding broadcast.
inline constexpr const char* kNoShards = "route: the commands of workers have no shards; only the handlers of executors have";

/// Identifies a run beyond the database, in which another run may get its number when the database is replaced by a new one or by a backup:
/// 16 hexadecimal digits.
std::string run_key(std::string_view job, WallTime scheduled);

/// A worker that refused a run, or claimed one that was not given to it, gets none for this time: it offers less than it says, or is about
/// to report the end of that run.
inline constexpr Duration kPauseOfWorker = 1s;

/// What a worker says about the end of a run.
struct ReportedEnd {
  Status status = {};
  std::string note = {};
  bool is_refused = false;  // The worker did not begin it: it has no room, or does not offer the command any more.
  std::optional<WallTime> ended = {};
};

/// A run at a worker.
struct PlacedRun {
  std::string worker;
  std::string command;
  std::uint32_t attempt = 0;            // As the worker knows it. Events about another attempt are refused.
  std::string key = {};                 // run_key(), as the worker knows it; empty: it did not say.
  std::optional<AsyncRun> open;         // Empty: the worker claims it, and it has not begun here.
  bool is_confirmed = false;            // The worker has it, or had it.
  bool has_ended = false;               // At the worker, by its claim.
  bool is_recorded = false;             // The store has the worker of the run. Before that the worker does not get it.
  std::optional<ReportedEnd> end;       // Of a claimed run that has not begun here.
  std::optional<WallTime> begun = {};   // At the worker, by its report.
  std::optional<Instant> sent = {};     // When it was ordered to begin.
  std::optional<Instant> stopped = {};  // When it was ordered to stop.
};

/// What a worker says about a run when it connects.
struct Claim {
  std::uint32_t attempt = 0;
  std::string command;
  bool has_ended = false;
  std::string key = {};  // As PlacedRun::key.
};

/// A report of a worker. Its answer waits until the ends in it are stored.
struct HeldReport {
  std::int64_t number = 0;
  std::string worker;
  Reply reply;
  std::uint64_t refused = 0;             // Events.
  std::set<std::int64_t> waits = {};     // Runs whose end is on its way into the store.
  std::set<std::int64_t> unstored = {};  // Runs whose end is not in the store: the worker reports it again.
  Instant until = {};
};

struct WorkerEntry {
  std::string session;                          // Of the connection; unguessable.
  std::optional<Reply> orders;                  // Empty: it is away.
  std::map<std::string, std::uint64_t> offers;  // Places by command.
  std::uint64_t places = 0;                     // Of all commands together.
  std::set<std::int64_t> runs;                  // Its runs: see places_in_use().
  std::set<std::int64_t> unconfirmed;
  bool is_claiming = false;             // It has not named all its runs yet, and gets none meanwhile.
  std::set<std::int64_t> claimed = {};  // Those that it has named meanwhile, and that are its.
  std::string trouble = {};             // By its report: its state on the disk cannot be written.
  Instant full_until = {};              // kPauseOfWorker.
  std::optional<HeldReport> held = {};  // One, as a worker sends its next report after the answer.
  Instant heard;                        // The last report, or the connection.
  Instant in_contact = {};              // The connection, or the first report after a time of WorkersOptions::silent without one.
  Caller caller = {};                   // It has connected the worker.
  Instant left = {};                    // Since when it is away.
  bool ignores_checks = false;          // It did not answer the last check in time: it gets no further one until it does.
  bool is_silent = false;               // Its runs say so: it is away, or has not reported for WorkersOptions::silent.
  WallTime connected;                   // Since when it is connected.
};

/// A reader of a log that waits for a worker, or for its run to go on.
struct LogReader {
  Reply reply;
  std::int64_t run = 0;
  std::int64_t from = 0;
  bool waits = false;
  std::string of = {};                   // The worker in whose log 'from' counts; empty: of any worker.
  std::string worker = {};               // The worker that was asked; empty: none.
  std::vector<std::string> others = {};  // Those to be asked next, the last one first.
  std::string key = {};                  // run_key() of the run; empty: unknown.
  std::string end = {};                  // How the run has ended, for people; empty: it goes on.
  std::uint64_t look = 0;                // Of the question to the store whose answer counts.
  Instant until;                         // Then the workers are given up.
  Instant worker_until = {};             // Then the worker that was asked is given up, and the next one is asked.
  bool was_here = false;                 // Its run was at a worker when it asked.
  bool is_held = false;                  // It waits for its run.
  Instant held_until = {};               // A reader that waits, while no worker was asked: then it hears what the run waits for.
};

/// A check of parameters that a worker has not answered.
struct WorkerCheck {
  std::string worker;
  std::function<void(const Status& checked)> done;
  Instant until;
};

/// The places that a worker's runs occupy. One that has ended there occupies none, although its end is still to come.
std::size_t places_in_use(const std::map<std::int64_t, PlacedRun>& runs, const WorkerEntry& worker);

struct Workers::Impl {
  Impl(Runtime& runtime, Jobs& jobs, const WorkersOptions& options);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // --- connections (connections.cc)
  void connect(const Arguments& arguments, Reply reply);
  void gone(const std::string& name, const std::string& session);
  void disconnect(const std::string& name, WorkerEntry& worker);
  /// Ok if no worker with the name is connected, or one whose connection may be half-open and that is the caller's: see replace().
  Status may_connect(const std::string& name, const Caller& caller) const;
  /// Ends the orders of a connected worker, because it has connected again.
  void replace(const std::string& name);
  /// Ends the orders of a connected worker.
  void turn_away(const std::string& name, Status why);
  /// No worker stays connected while another scheduler runs the jobs: it is needed there.
  void stand_by();
  /// The runs that the worker names, in worker-orders or in a later report. InvalidArgument or ResourceExhausted for too many.
  Status take_claims(const std::string& name, WorkerEntry& worker, const Arguments& arguments);
  /// True if the run is the worker's.
  bool claim(const std::string& name, WorkerEntry& worker, std::int64_t run, const Claim& claimed);
  /// True if the end of this attempt of a run is known.
  bool is_taken(std::int64_t run, std::uint32_t attempt) const;
  /// After a reconnection: begins again what the worker never got, and ends what it has lost.
  void settle_unclaimed(const std::string& name, WorkerEntry& worker, const std::set<std::int64_t>& claimed);
  void tick();
  void give_up(const std::string& name);
  /// Ends the runs that a worker has not begun although it has reported for WorkersOptions::away. Times without contact do not count: in
  /// them the run may have begun, and ended.
  void end_ignored_orders();
  /// Has the runs of the worker say since when it is away or silent, and what follows; or that it is back.
  void show_silence(const std::string& name, WorkerEntry& worker);
  std::string silence_of(const std::string& name, const WorkerEntry& worker, const AsyncRun& run) const;
  bool is_offered(std::string_view command) const;
  /// The worker's commands and places from now on. Its runs go on.
  Status change_offers(WorkerEntry& worker, const Arguments& arguments);
  /// Removes the handlers of those commands that no worker offers any more, unless a claimed run needs one.
  void withdraw(const std::map<std::string, std::uint64_t>& offers);
  /// True if a worker claims a run of the command that has not begun here: its begin needs the handler, whatever the worker offers.
  bool has_claims(std::string_view command) const;
  /// Removes the handlers of commands that were there for claims alone.
  void withdraw_lent();

  // --- runs (placing.cc)
  void publish(const std::string& command);
  bool has_room(const std::string& command, std::int64_t run) const;
  /// True if the worker has no other run of the job.
  bool is_idle(const WorkerEntry& worker, const JobRun& run) const;
  using Entries = std::map<std::string, WorkerEntry, std::less<>>;
  /// The worker that can take a run, with the smallest share of its places in use.
  Entries::iterator least_used(const std::string& command);
  /// The one that Job::route chooses.
  Entries::iterator routed(const std::string& command, const AsyncRun& run);
  /// True if a worker that says 'key' of a run has another run than the one of this number that has no stored end.
  bool is_other_run(std::int64_t run, std::string_view key) const;
  /// True if the worker that was given the run before a restart has it: begin() links it.
  bool is_claimed(std::int64_t run) const;
  /// RemoteHandler::held: the worker that was given the run by an earlier process may have it, and has not come back yet.
  std::string held(std::int64_t run) const;
  void begin(const std::string& command, const AsyncRun& run);
  void give(const std::string& name, WorkerEntry& worker, const std::string& command, const AsyncRun& run);
  /// Has the store record the worker of a run, and then gives it the run.
  void record_and_start(std::int64_t run);
  /// The runs whose worker could not be recorded.
  void record_again();
  /// True if the run was given to this worker, as far as the store knows.
  bool was_given(std::int64_t run, const std::string& worker) const;
  void send_start(WorkerEntry& worker, PlacedRun& run);
  void send_stop(const std::string& name, std::int64_t run, std::string_view why);
  /// AsyncRun::on_stop.
  void stop(const std::string& name, std::int64_t run);
  /// The worker sets its record of the run aside.
  static void send_refused(WorkerEntry& worker, std::int64_t run, std::string_view why);
  void link(std::int64_t run, const AsyncRun& open);
  /// Ends a run, if it is open, and forgets it.
  void finish(std::int64_t run, const ReportedEnd& end);
  void remove(std::int64_t run);
  /// The runs that were meant for a worker, and that it did not get yet, wait for room again.
  void take_back(WorkerEntry& worker);
  void find_room();
  /// The same for the runs that are held.
  void check_again();
  std::set<std::string> offered_commands() const;

  // --- reports (reports.cc)
  void report(const Arguments& arguments, Reply reply);
  bool take_event(const std::string& name, WorkerEntry& worker, const RowArgument& event, HeldReport& of);
  /// A worker with trouble gets no run.
  void change_trouble(const std::string& name, std::string trouble);
  void take_end(WorkerEntry& worker, std::int64_t run, const RowArgument& event, HeldReport& of);
  /// True if the end of the attempt is on its way into the store. The answer of the report then waits for it.
  bool waits_for_store(std::int64_t run, std::uint32_t attempt, HeldReport& of);
  void end_stored(const std::string& worker, std::int64_t report, std::int64_t run, const Status& why);
  static void answer(HeldReport report);
  /// Answers the reports that have waited for the store as long as they may.
  void answer_late_reports(Instant now);
  bool take_log(const std::string& name, const RowArgument& event, std::int64_t request);
  void list(Reply reply) const;

  // --- checks of parameters (checks.cc)
  /// AsyncHandler::check: asks a worker that offers the command.
  void check(const std::string& command, const Job& job, std::function<void(const Status& checked)> done);
  /// Ok, or why the worker gets no check.
  Status may_check(const std::string& name, const WorkerEntry& worker) const;
  bool take_checked(const std::string& name, WorkerEntry& worker, const RowArgument& event, std::int64_t request);
  void end_check(std::int64_t request, const Status& checked);
  /// The worker has left.
  void leave_checks(const std::string& worker);
  /// Ends the checks whose time is over.
  void watch_checks(Instant now);

  // --- troubles.cc
  static std::string at_milliseconds(WallTime time);
  /// Why the worker gets no runs, or why no word of its runs may come; empty: for no such reason.
  std::string trouble_of(const std::string& name, const WorkerEntry& worker) const;
  Status health() const;
  /// RemoteHandler::why_no_room.
  std::string why_no_room(const std::string& command) const;

  // --- logs (logs.cc)
  void read_log(const Arguments& arguments, Reply reply);
  void read_log_of_worker(std::int64_t run, std::int64_t from, bool wait, std::string of, Reply reply);
  /// Chooses the workers that may have what a reader lacks, and asks the first of them.
  void choose_workers(std::int64_t request);
  /// Asks the store for the run of a reader.
  void find_run(std::int64_t request, void (Impl::*found)(std::int64_t request, const Result<JobRun>& run));
  /// Chooses the workers for a run that no worker has at present.
  void choose_past(std::int64_t request, const Result<JobRun>& run);
  /// Asks the next worker of a reader, or has it wait for its run, or ends it.
  void ask_next(std::int64_t request);
  /// The reader waits until a worker gets the run, or the run ends.
  void hold(std::int64_t request);
  void leave_if_ended(std::int64_t request, const Result<JobRun>& run);
  /// Asks for the log of a run whose worker has got it now, or has come back.
  void ask_held(std::int64_t run);
  void leave_readers(const std::string& worker);
  /// Ends the readers that have waited long enough, and finds runs that have ended.
  void watch_readers();
  /// True if a worker has a run whose job was removed.
  bool was_removed(std::int64_t run) const;
  /// The worker that was asked has not answered in its time.
  void leave_silent_worker(std::int64_t request);
  /// An answer without output to a reader that waits: it asks again. 'why': for what it waits.
  void answer_without_output(std::int64_t request, std::string_view why);
  void fail_reader(std::int64_t request, const Status& why);
  void finish_reader(std::int64_t request, boost::json::object answer);

  Runtime& runtime;
  Jobs& jobs;
  RemoteRuns remote{jobs};
  const WorkersOptions options;
  Entries workers;  // By name; those that are away only while they have runs.
  std::map<std::int64_t, PlacedRun> runs;
  std::map<std::int64_t, LogReader> readers;
  std::map<std::int64_t, WorkerCheck> checks;  // By number of the request.
  std::int64_t last_request = 0;               // Of readers and checks.
  std::int64_t last_report = 0;
  Router router{0};
  WorkersStats stats;
  Instant settled;  // From then on workers that had runs of an earlier process, or of another scheduler, have come back.
  bool is_settled = false;
  std::set<std::string> lent;               // Commands that no worker offers, with a handler for has_claims().
  std::set<std::string, std::less<>> came;  // Until then: the workers that have reported their runs. At most limits::kWorkers.
  TimerSource timer;
  /// For calls that come back later: it is gone with the Impl.
  std::shared_ptr<Impl*> self = std::make_shared<Impl*>(this);
};

}  // namespace rondo::jobs
