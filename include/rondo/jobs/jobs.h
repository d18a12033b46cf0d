// Jobs: runs jobs in a runtime. It plans their firings ahead (JobStore keeps each as a row), fires each at its millisecond, and runs its
// handler in a turn of the job's priority or on a thread of a pool.
//   auto store = make_sqlite_job_store("jobs.db");
//   if (!store) return store.error();
//   Jobs jobs(runtime, std::move(*store));
//   jobs.handle("clean", [](const JobContext& context) { return clean(context.parameters, context.stop); });
//   jobs.define({.name = "clean-cache", .handler = "clean", .schedule = {.when = "every 10s"}});
//   jobs.start();
//
// Promise: a run is stored before it fires. It runs at least once: a run whose end is not stored when the process crashes is run again
// after the next start, with the same id. If the store fails, nothing new fires until it works again, and health() returns the reason.
//
// A due run is a row of the table JOB_RUN_<priority>, so it takes turns with all other tables under the runtime's policy, and `rondo why`,
// `parked` and `tables` show it. A run that waits for other runs of its job waits for the fact job-turn:<job>#<run>. Late runs: see Misfire
// and JobsOptions. Runs that are still running: see Overlap.
//
// A handler is a function (handle(), handle_in_turn()) or works elsewhere (handle_async()).
//
// Threads: handlers run on threads of the pools (handle()), and the store is used on a thread of its own. All functions of this class, and
// of AsyncRun while its attempt is open, are called on the runtime's thread; from other threads use Runtime::post. Order: offer_facts() is
// called before start(), and start() once. The destructor is not called within a function that Jobs calls: a handler, a 'done'. A call at
// a wrong place ends the process with a message that names it.
// Journal: the works of the store's thread, the attempts of handle(), what asynchronous handlers answer and report, and the calls of this
// class are recorded. A replay uses neither the store, which may be null there, nor these handlers; handlers of handle_in_turn() run
// again. A replay calls no function of on_end() and on_due(). It makes the calls that programs outside of the runtime caused (admin
// commands, workers). Other programs: one Jobs at a time runs the jobs of a database. Another one may edit them meanwhile: define(), put(),
// put_all(), start(), stop() and remove(). The running Jobs takes such an edit over within JobsOptions::cycle, like a call of its own; but
// a child that is added or started so takes part in no run of its root that is planned already. Only the running Jobs can trigger(),
// rerun(), backfill() and kill().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/metrics.h"
#include "rondo/base/result.h"
#include "rondo/jobs/async_run.h"
#include "rondo/jobs/job.h"
#include "rondo/jobs/job_run.h"
#include "rondo/jobs/job_store.h"
#include "rondo/jobs/scheduler_claim.h"
#include "rondo/orch/fact.h"
#include "rondo/orch/runtime.h"

namespace rondo::jobs {

struct FoundRuns;

/// The fact job-succeeded:<job>: of the runs of the job that have begun, the last to end has succeeded. Rows of tables may wait for
/// it, and other jobs (Job::required_facts). A run that was killed, skipped or discarded before it began does not count; after a begin it
/// counts as one without success. The first question about a job reads the store, so the answer may come a moment later. It compares the
/// ends by JobRun::ended.
inline constexpr FactKind kJobSucceeded{"job-succeeded"};

struct PoolOptions {
  unsigned threads;  // 1 to limits::kExecutorThreads (asserted).
  /// Runs in the pool, running ones included. Further runs wait in their table, by priority, so a small number keeps a flood of low runs
  /// from delaying a high one. At least 1 (asserted).
  std::size_t runs_max;
};

struct JobsOptions {
  Duration window{5s};  // How far ahead runs are planned: 1 to 50 s (asserted).
  Duration grace{10s};  // Runs that are later follow Job::misfire. At least 'window' (asserted).
  Duration cycle{1s};   // Between two looks for due jobs; at most half of 'window' (asserted).
  PoolOptions fast{.threads = 8, .runs_max = 16};
  PoolOptions slow{.threads = 4, .runs_max = 8};
  /// A job uses the slow pool for the rest of a minute in which more than 'slow_runs' of its runs took longer than 'slow_run'.
  Duration slow_run{500ms};
  unsigned slow_runs = 10;
  /// Ended runs are removed after this time. Those remain that a run without an end names as a parent, and of each job the one on which
  /// kJobSucceeded rests; also with 'kept_runs'.
  Duration kept{30 * 24 * 3600s};
  /// Ended runs of a job are removed when it has so many newer ones, and up to a tenth more until they are removed. 0: none are.
  std::size_t kept_runs = 10'000;
  /// After this time the destructor of Jobs reports the handlers for which it waits to Runtime::on_reject, which logs them by default.
  Duration end_notice{5s};
};

/// What a handler receives. Valid during the call.
struct JobContext {
  std::int64_t run;  // The same in each attempt, also after a crash: use it to make the effect happen once.
  const std::string& job;
  const std::string& parameters;
  WallTime scheduled;
  std::uint32_t attempt;       // 0 for the first one.
  bool is_recovered;           // An earlier process left the run without an end, and may have begun this attempt.
  const std::stop_token stop;  // Requested when the run is killed, covered, or has exceeded its timeout.
};

/// A job that Jobs::put_all() adds or edits.
struct JobEdit {
  /// True if the job is started.
  enum class Running : std::uint8_t {
    Kept,     // A new job is stopped, another one keeps its state.
    IfNew,    // A new job is started, another one keeps its state; a job that equals the stored one does not change at all.
    Started,  // As Jobs::start().
    Stopped,  // As Jobs::stop().
  };
  Job job;
  Running running = Running::Kept;
};

/// Past instants of a job that get a run: Jobs::backfill().
struct BackfillRange {
  WallTime from{};        // The earliest instant.
  WallTime to{};          // Instants are before this time, which is not in the future.
  std::size_t max = 100;  // The most runs of the job: 1 to limits::kBackfillRuns.
  bool dry_run = false;   // Nothing is stored: the runs of the answer have no id.
};

/// What Jobs::trigger() may set for one run.
struct TriggerOptions {
  /// In place of Job::parameters, in each attempt of the run; at most limits::kJobParameters bytes of UTF-8. Jobs below keep their own.
  std::optional<std::string> parameters = {};
  /// The only executor that gets the run, in the canonical form: one that its group does not have is never called, and the run waits for
  /// it. Without effect at handlers that are no executors.
  std::string address = {};
};

/// How runs ended.
struct RunEnds {
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;   // Also TimedOut.
  std::uint64_t killed = 0;   // After they began; also covered ones.
  std::uint64_t not_run = 0;  // Discarded, Skipped and Killed before they began.
};

struct JobsStats : RunEnds {
  std::uint64_t planned = 0;
  std::uint64_t fired = 0;  // Rows that were given to the tables.
  std::uint64_t attempts = 0;
  std::array<RunEnds, 5> of_band;  // By Band.
  std::uint64_t retried = 0;
  std::uint64_t recovered = 0;  // Found without an end at the start.
  std::uint64_t edits = 0;      // How often jobs were added, edited, started, stopped or removed, also by other programs.
  std::size_t pending = 0;      // Runs without a stored end.
  std::size_t running = 0;
  std::optional<WallTime> oldest_due;  // The earliest due time of the due runs that have not begun; empty: there is none.
  Histogram lateness_ns;               // From the due time to the beginning of the first attempt.
  Log2Histogram run_ns;                // From the begin to the end of the last attempt of a run.
  std::uint64_t misfired = 0;          // Runs of missed instants that Job::misfire fires late.
  std::uint64_t misfire_skipped = 0;   // Missed instants for which it fires no run.
};

class Jobs {
 public:
  /// Returns ok, or why the run failed: retried, if the job has retries left. An exception counts as a failure.
  using Handler = std::function<Status(const JobContext& context)>;
  template <class T>
  using Done = std::function<void(Result<T>)>;

  /// For tests, and for programs that cannot run without jobs: where open() returns an error, this prints it and ends the process.
  /// 'runtime' must outlive it.
  Jobs(Runtime& runtime, std::shared_ptr<JobStore> store, JobsOptions options = {});
  /// Requests the stop of running handlers and waits for them, however long they take: see JobsOptions::end_notice. Their runs have no
  /// stored end, so they run again after the next start, also if they returned ok: they may have stopped half-way. See drain().
  ~Jobs();
  /// AlreadyExists if the runtime has, or had, a Jobs: a runtime has one, because each kind of fact about jobs has one provider.
  static Result<std::unique_ptr<Jobs>> open(Runtime& runtime, std::shared_ptr<JobStore> store, JobsOptions options = {});
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  /// Sets the handler for jobs that name it. It runs on a thread of a pool and may block. A handler of that name is replaced; attempts
  /// under way keep the former one. Here and in the next two functions an empty name and an empty function are asserted. 'check' may be
  /// empty: then put_checked() does not check the parameters of jobs with this handler.
  void handle(std::string name, Handler handler, CheckParameters check = {});
  /// The same for a short handler, which runs in a turn of the job's priority and must not block. Nothing can stop it: Job::timeout has no
  /// effect, and a kill or Overlap::Cover comes before its begin or after its end.
  void handle_in_turn(std::string name, Handler handler, CheckParameters check = {});
  /// The same for a handler that works elsewhere, such as in another process. It takes no thread while it waits: see AsyncRun.
  void handle_async(std::string name, AsyncHandler handler);
  /// Runs that wait for room at an asynchronous handler may begin, as many as AsyncHandler::has_room() allows.
  void has_room(const std::string& handler);
  /// The handler goes away. Attempts under way are not touched. Runs that have not begun fail, or wait: see wait_for_handlers().
  void remove_handler(const std::string& name);
  /// Runs whose handler is absent and begins with 'prefix' do not fail. They wait for the fact job-handler:<handler>, and begin when the
  /// handler is set. 'reason' returns what `rondo why` shows, such as "no worker offers command backup".
  void wait_for_handlers(std::string prefix, std::function<std::string(std::string_view handler)> reason);
  /// Jobs may require facts of this kind (Job::required_facts), beside kJobSucceeded. Call it before start(). As long as no Orch provides
  /// them, the runs of such jobs wait, and `rondo why` says that there is no provider. A job that requires such a fact can be defined after
  /// this call.
  void offer_facts(FactKind kind);
  /// Calls 'listener' in a turn for each run that has ended, when its end is stored. Not for instants without a run that misfire has
  /// skipped, and not for runs of a removed job. Without a listener, runs that failed or timed out are reported to Runtime::on_reject,
  /// which logs them by default. What the listener throws is reported there. Call it before start().
  void on_end(std::function<void(const JobRun& run)> listener);
  /// Calls 'listener' in a turn for each run whose time has come, before each of its attempts, also for those that an earlier process left.
  /// It must not call functions of this class. What it throws is reported to Runtime::on_reject. Call it before start().
  void on_due(std::function<void(const JobRun& run)> listener);
  /// Plans and fires from now on. First it claims the store, and takes up the runs that an earlier process left. While another process has
  /// claimed it, health() says so, and it tries again. Call it once, after handle().
  void start();

  /// For the end of a program without runs that begin twice: no further run is given to a handler or a pool. Those that a pool has in its
  /// queue still begin (PoolOptions::runs_max). Calls 'done' in a later turn: with ok when no handler runs and all ends are stored, or
  /// after 'patience' with DeadlineExceeded and the number of attempts under way. Destroy Jobs when 'done' has returned, for instance after
  /// Runtime::stop(). What has not begun runs after the next start. Let attempts go that asynchronous handlers have given away
  /// (AsyncRun::leave()): otherwise they count, too. Call it once.
  void drain(Duration patience, std::function<void(const Status& drained)> done);

  // The following functions return immediately; 'done' is called in a later turn, never within the call, and not after the destructor has
  // begun. It may be empty: then an error is reported to Runtime::on_reject, which logs it by default. What it throws is reported, too.
  /// Adds a job and starts it, or edits it. A job that equals the stored one does not change, so a program may define its jobs at
  /// each start.
  void define(Job job, Done<StoredJob> done = {});
  /// Adds a stopped job, or edits one. InvalidArgument: see check().
  void put(Job job, Done<StoredJob> done = {});
  /// Adds and edits jobs in one transaction: all of them, or none, with the error of the first one that is wrong. The order of parents and
  /// children does not matter. Answers with the jobs in the order of 'edits'. With 'is_dry' the answer is the same, and nothing is stored.
  /// InvalidArgument: see check(); also for a parent that does not exist, for a job that is there twice, and for more than
  /// limits::kJobsOfPut jobs.
  void put_all(std::vector<JobEdit> edits, bool is_dry, Done<std::vector<StoredJob>> done = {});
  /// The same, after the handlers of the jobs have checked the parameters (CheckParameters), one job after the other, for at most
  /// limits::kParameterChecks: then no further check begins. InvalidArgument if a handler refuses the parameters of a job: then nothing is
  /// stored, and 'done' may be called within the call. The checks are no part of a recorded run. 'done' must not be empty (asserted).
  void put_checked(std::vector<JobEdit> edits, bool is_dry, Done<std::vector<StoredJob>> done);
  /// Starts a job: its first run is that of the first instant that is due after now, also if its jitter has begun before; "after DURATION"
  /// begins with a run one DURATION from now.
  void start(std::string name, Done<StoredJob> done = {});
  /// Stops a job: due runs that have not begun are skipped, also those that a later process finds, and the rows of instants that are not
  /// due yet are removed. Those of trigger() and backfill() stay. 'note' becomes Job::stop_note.
  void stop(std::string name, std::string note, Done<StoredJob> done = {});
  /// Stops a job and removes it with its runs. Running handlers are asked to stop.
  void remove(std::string name, Done<StoredJob> done = {});
  /// Runs a job once, now, whether it is started or not; before start() of the Jobs: as soon as they start. AlreadyExists if another
  /// program runs the jobs of the database: the run would begin here, beside those of that program. ResourceExhausted if
  /// limits::kLiveRunsOfJob runs of the job have no end, or limits::kLiveRuns of all jobs.
  void trigger(std::string name, Done<JobRun> done = {}) { trigger(std::move(name), TriggerOptions{}, std::move(done)); }
  /// The same with other parameters or at one executor. InvalidArgument for parameters that check() refuses.
  void trigger(std::string name, TriggerOptions with, Done<JobRun> done = {});
  /// Runs a run again that has ended without success, with the jobs below it: for its own instant, with its own parameters and address if
  /// it had some, otherwise with those that its job has now. The new run has JobRun::rerun_of, and waits for other runs of the job as those
  /// of backfill() do. FailedPrecondition if the run has succeeded or has not ended. NotFound if it is unknown, or its job was removed.
  /// AlreadyExists and ResourceExhausted as with trigger().
  void rerun(std::int64_t run, Done<JobRun> done = {});
  /// Runs the scheduled instants of a range that have no run, whether the job is started or not, together with the jobs below it. Answers
  /// with the runs of the job itself, the earliest first. Such a run waits until no other run of its job is running or waits, whatever
  /// Job::overlap is (with Overlap::Concurrent: up to Job::concurrency run). InvalidArgument for a range with more than 'max' instants
  /// without a run, for a range that touches the time between the first and the last instant whose run was removed (JobsOptions::kept,
  /// kept_runs), and for a job whose schedule has no instants of its own: manual, "after DURATION", or with parents. NotFound.
  /// AlreadyExists and ResourceExhausted as with trigger(), where 'max' counts as that many runs.
  void backfill(std::string name, BackfillRange range, Done<std::vector<JobRun>> done = {});
  /// Asks a running handler to stop, or ends a run that has not begun, also one that waits for a further attempt, which ends as failed.
  /// NotFound if the run has ended; then 'stored' is not called. Otherwise it is called with a value when the store has the kill: after a
  /// crash the run is not begun again. An error says why the store does not have it; the kill holds until this program ends.
  Status kill(std::int64_t run, Done<bool> stored = {});
  void find(std::string name, Done<StoredJob> done);
  /// At most 'max' jobs in the order of their names, beginning behind 'after': fewer if these have limits::kJobsPageBytes. is_last_page()
  /// tells whether there are more.
  void list(std::string after, std::size_t max, Done<std::vector<StoredJob>> done);
  static bool is_last_page(const std::vector<StoredJob>& page, std::size_t max);
  /// For each job of list(after, max): of its runs that have begun, the one that ended last; behind these, for each job whose last one did
  /// not succeed, the last one that did. Jobs without such a run are left out.
  void newest_ends(std::string after, std::size_t max, Done<std::vector<JobRun>> done);
  /// At most 'max' runs of a job whose id is below 'before', the newest first. NotFound.
  void runs(std::string job, std::int64_t before, std::size_t max, Done<std::vector<JobRun>> done);
  /// At most 'max' runs of the jobs whose handler begins with 'handlers' that failed or timed out, and ended at 'since' or later, whose id
  /// is below 'before', the newest first.
  void failures(WallTime since, std::int64_t before, std::size_t max, std::string handlers, Done<std::vector<JobRun>> done);
  /// Lists the schedulers that have claimed the jobs of the database, also if their lease has ended, and this one. With the jobs in a file
  /// it lists this one alone.
  void schedulers(Done<std::vector<SchedulerClaim>> done);
  /// A run as the store has it; NotFound.
  void find_run(std::int64_t run, Done<JobRun> done);

  /// The runs of a job without an end, the oldest first, as this process knows them: they may be ahead of the store. O(result).
  std::vector<JobRun> unfinished(std::int64_t job_id) const;
  /// As they were given to the constructor.
  const JobsOptions& options() const;
  /// For handlers that answer for what is stored. While the end of this attempt is on its way into the store, returns true, and 'stored' is
  /// called in a later turn: with ok when the store has the end, or with the reason why it could not be stored; Jobs tries again. The last
  /// call for a run counts. Otherwise false: the store has the end, or the attempt has not ended. An exception of 'stored' is reported to
  /// Runtime::on_reject. After ~Jobs 'stored' is not called any more.
  bool when_stored(std::int64_t run, std::uint32_t attempt, std::function<void(const Status& why)> stored);
  const JobsStats& stats() const;
  /// Ok, or why nothing is planned or stored at present, also before start(), or why a definition without 'done' failed. FailedPrecondition
  /// if a handler has not returned, or ended its attempt, a minute after it was asked to stop; and if a started job names an absent handler
  /// for which runs do not wait (wait_for_handlers()): its runs will fail. The jobs are read for this at the start, and a job again when it
  /// is edited here, or planned. O(runs that were asked to stop + such handlers).
  Status health() const;

 private:
  friend class ForCaller;
  friend class JobsView;
  friend class RemoteRuns;
  struct Impl;
  struct JobSource;
  struct ParameterChecks;
  Jobs(Runtime& runtime, std::shared_ptr<JobStore> store, const JobsOptions& options, JobSource source);
  bool repeat(std::string_view call);
  void put_one(JobEdit edit, Done<StoredJob> done);
  void add_requested(std::string name, std::string work, std::function<Result<FoundRuns>(JobStore& store)> add, Done<JobRun> done);
  void edited(const Result<StoredJob>& stored, const Done<StoredJob>& done);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo::jobs
