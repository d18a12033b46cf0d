// Jobs::Parts: the running job scheduler: from a planned run to its stored end. See jobs.h for the promises.
//
//   planner (store thread) -> adopt -> time ring -> fire -> row of JOB_RUN_<priority> -> begin -> pool -> attempt_ended -> store -> forget
//
// Scheduler thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jobs/job_calls.h"
#include "jobs/jobs_view.h"
#include "jobs/live_run.h"
#include "jobs/planner.h"
#include "jobs/pools.h"
#include "jobs/remote_runs.h"
#include "jobs/run_queue.h"
#include "jobs/store_thread.h"
#include "jobs/time_ring.h"
#include "rondo/jobs/jobs.h"
#include "rondo/sched/timer.h"
#include "sched/recorded_calls.h"

namespace rondo::jobs {

struct HandlerEntry {
  std::shared_ptr<const Jobs::Handler> handler = {};
  bool in_turn = false;
  std::shared_ptr<const RemoteHandler> async = {};  // In place of 'handler'.
  CheckParameters check = {};                       // Of 'handler'.
};

/// The pause after the attempt with this number.
Duration backoff_of(const Job& job, std::uint32_t attempt);

/// The place of the one Jobs in a runtime: the provider of the facts about jobs.
struct Jobs::JobSource {
  /// AlreadyExists if it is taken.
  static Result<JobSource> take(Runtime& runtime);
  /// The same, but an error ends the process.
  static JobSource taken(Runtime& runtime);
  HooksOf hooks;
  JobTurns* turns = nullptr;
};

struct Jobs::Parts {
  /// 'repeat' makes a recorded call again (RecordedCalls).
  Parts(Runtime& runtime, std::shared_ptr<JobStore> store, const JobsOptions& options, JobSource source,
        std::function<bool(std::string_view)> repeat);
  ~Parts();
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  // --- planning (parts_planning.cc)
  /// Takes up the runs that an earlier process left, a page at a time, and begins to plan.
  void recover();
  /// Ends a run that an earlier process left, if there is a reason 'why'.
  void end_recovered(LiveRun& live, std::string why);
  /// Ends a run that was killed before, unless a worker may have it.
  void stop_recovered(LiveRun& live);
  void give_up_killed();
  /// True, with planning_trouble set, at limits::kLiveRuns.
  bool is_full();
  /// ResourceExhausted if 'more' runs of the job would be too many, with those that wait, and those that are being added.
  Status room_for(const std::string& job, std::size_t more) const;
  /// Adds 'more' to the runs of a job that room_for() knows, and takes 'fewer' from them.
  void count_runs(const std::string& job, std::size_t more, std::size_t fewer);
  /// The runs that may be planned. The more runs wait in all, the fewer of one job may.
  Planner::Room room() const;
  void begin_planning();
  void cycle();
  /// Another store has changed the database: takes over what has become of the jobs that have live runs, and plans then.
  void follow_changes();
  /// A page of them, behind that with this id.
  void follow_page(std::int64_t after);
  void follow(const std::map<std::int64_t, std::string>& page, const std::vector<StoredJob>& stored);
  void planned(Planner::Cycle& found);
  /// Removes ended runs that are old or too many, each minute, a page in a transaction.
  void forget_old();
  /// Removes a page of them, and then at most 'pages' - 1 further ones.
  void forget_page(int pages);
  /// Makes a run live. Ignores one that is live.
  void adopt(const JobRun& run, const Job& job);
  /// Puts a planned run in line for its time.
  void wait_until_due(LiveRun& live);
  void arm_ring();
  void fire_due();

  // --- the wall clock and the zones (parts_clock.cc)
  WallTime wall_now() const;
  /// After the wall clock was set: jobs continue from the present time, and attempts wait no longer than their backoff. Instants that are
  /// late now follow their band.
  void clocks_read(Duration difference);
  /// Reads changed zones again, once a minute.
  void refresh_zones();
  /// Computes the next times of a page of jobs again, and continues with the page behind it.
  void replan_page();
  /// The due time of a planned run. Only an instant of the calendar follows the wall clock wherever it is set.
  WallTime due_of(const LiveRun& live) const;

  // --- facts that jobs wait for, and facts about jobs (parts_facts.cc)
  void explain_facts();
  /// InvalidArgument for a kind of fact that is not offered, with those that are.
  Status check_facts(const Job& job) const;
  /// What a run waits for before it takes its turn: the success of its parents' runs, and the facts that its job requires.
  /// Whether a run that has waited for a place must wait for a fact that has ended meanwhile. It has left its place then.
  bool waits_for_facts_again(LiveRun& live);
  std::vector<Fact> missing_facts(const LiveRun& live) const;
  /// kJobSucceeded. Reads the store when it is asked about a job for the first time.
  bool has_job_succeeded(std::string_view job);
  void read_last_end(const std::string& job);
  /// A run has ended. One that did not begin says nothing about its job.
  void note_end(const JobRun& run);
  /// Whether the last run of a job succeeded. A job that was removed has none.
  void note_success(const std::string& job, bool succeeded);

  // --- for people (parts_activity.cc)
  std::vector<std::int64_t> runs_that(std::string_view job, bool (*condition)(const LiveRun&)) const;
  static std::string retry_note(const LiveRun& live);
  std::string trouble_of_absent(std::string_view handler) const;
  RunActivity activity_of(const LiveRun& live) const;
  RunActivity of_due_run(const LiveRun& live) const;
  RunActivity of_ending_run(const LiveRun& live) const;
  /// Whether an earlier process gave the run to a worker that may have begun it, and that has not said so since.
  bool may_be_at_worker(const LiveRun& live) const;
  /// ": " and why the handler has no room; empty if it gives no reason.
  std::string why_no_room(const std::shared_ptr<const RemoteHandler>& handler) const;
  /// What `why` adds about the row of a run.
  RowInPlane row_state(std::string_view key);
  RowInPlane state_of_ended(std::int64_t run, std::string_view key) const;
  void note_ended(const JobRun& run, WallTime ended);

  // --- running (parts_running.cc)
  void fire(LiveRun& live);
  Outcome begin(std::int64_t run, const Ticket& ticket);
  Outcome begin_handler(LiveRun& live, const Ticket& ticket);
  void cover(LiveRun& live);
  /// Overlap::Cover: a later run of the job that has begun, or may. 0: there is none. A run that waited for a fact begins after later ones.
  std::int64_t newer_run(const LiveRun& live);
  Outcome overlap(LiveRun& live);
  bool may_begin(std::int64_t run) const;
  /// Lets the next runs of a job begin that wait for a turn.
  void pass_turn(LiveJob& job);
  void submit(LiveRun& live, PoolKind pool, const HandlerEntry& handler);
  void pool_has_room(PoolKind pool);
  Attempt attempt_of(LiveRun& live, const HandlerEntry& handler);
  void attempt_ended(Attempt& attempt);
  void count_attempt(LiveRun& live);
  void watch_timeout(LiveRun& live);
  static constexpr const char* kKilled = "killed by a user";
  /// Asks a running handler to stop, or ends a run that has not begun.
  void stop(LiveRun& live, RunState verdict, std::string note);
  void watch_deadlines();
  /// The run whose handler was asked to stop first, and has not stopped, a minute after that; null: none.
  const LiveRun* stuck_run() const;
  void forget_stopped();

  // --- the end of a program (parts_draining.cc)
  void drain(Duration patience, std::function<void(const Status&)> done);
  /// Calls 'done' of drain() when it is time.
  void watch_drain();

  // --- handlers that work elsewhere (parts_async.cc)
  void set_handler(std::string name, HandlerEntry entry);
  void remove_handler(std::string_view name);
  /// Whether the runs of a job with this handler would fail at present.
  bool lacks_handler(std::string_view name) const { return !handlers.contains(name) && !waits_for_handler(name); }
  /// A job as the store has it now: notes whether it is started and lacks its handler, for health().
  void check_handler(const StoredJob& stored);
  /// The job was removed, or does not lack its handler any more. Another job may have the same handler, so all jobs are read again.
  void forget_handlerless(std::int64_t job_id);
  /// A started job that lacks its handler; null: none is known.
  const StoredJob* handlerless_job() const;
  /// Whether runs wait for this handler while it is absent.
  bool waits_for_handler(std::string_view name) const;
  std::string no_handler(std::string_view name) const;
  /// The run waits for its handler, which is absent. Counts it until it begins again or ends.
  Outcome wait_for_handler(LiveRun& live);
  void stop_awaiting(LiveRun& live);
  Outcome begin_async(LiveRun& live, const HandlerEntry& handler, const Ticket& ticket);
  static bool has_room(const RemoteHandler& handler, std::int64_t run);
  /// 'thrown': what another function of the handler has thrown for this attempt; then the attempt begins and fails.
  void start_async(LiveRun& live, const RemoteHandler& handler, Status thrown);
  void call_begin(std::shared_ptr<AsyncRun::State> of_attempt, const RemoteHandler& handler, Status thrown);
  /// The work of an attempt begins later, or has begun: then its timeout begins.
  void async_begin_changed(const AsyncRun::State& changed);
  static bool begins_later(const LiveRun& live);
  /// Calls 'question', which calls functions of an asynchronous handler about a run. Returns what they throw. A replay makes the calls that
  /// they made instead.
  template <class Question>
  Status ask(std::int64_t run, const Question& question) {
    CallsWithin marks(*this, "ask", run);
    if (!calls.is_replayed()) return call_out(question);
    marks.repeat();
    return {};
  }
  /// What an asynchronous handler answers about a run; true if it throws. A replay does not call the handler, and uses the recorded answer.
  /// The handler may remove itself, or end the run, within 'question', which returns its answer.
  template <class Question>
  bool answer_of(std::int64_t run, Status& thrown, const Question& question) {
    bool answer = false;
    thrown = ask(run, [&] { answer = question(); });
    answer = calls.is_replayed() ? calls.is_next(call_text("answer", run, true)) : answer || !thrown.ok();
    record("answer", run, answer);
    return answer;
  }
  /// The places of runs that wait for a handler: the highest priority first, then the oldest.
  using Line = std::map<std::pair<int, std::uint64_t>, std::int64_t>;
  static std::pair<int, std::uint64_t> place_of(const LiveRun& live) {
    return {-static_cast<int>(live.priority.level()), live.place_in_line};
  }
  /// Whether the run still is in a line of the handler.
  static bool is_in_line(const LiveRun* live, const std::string& name) {
    return live != nullptr && live->stage == LiveRun::Stage::Fired && live->ticket && live->job->job->handler == name;
  }
  /// The run, whose row is in flight, waits for room at its handler; or for the handler, if that is absent.
  void stand_in_line(LiveRun& live);
  /// The run begins its way to its handler again.
  void begin_again(LiveRun& live, const Outcome& outcome);
  /// Begins runs that wait in the line of a handler, as long as it has room.
  void serve_line(const std::string& name);
  /// Jobs::has_room(): serves the line now, and again in the next turn if a function of the user has called it.
  void take_room(const std::string& name);
  void serve_lines_again();
  /// Asks the handler about the runs that it holds.
  void check_again(const std::string& name);
  void async_ended(const AsyncRun::State& ended);
  void async_put_back(const AsyncRun::State& ended);
  void async_left(const AsyncRun::State& left);
  /// In a replay: the recorded end of an attempt. False if no such attempt is under way.
  bool repeat_end(std::int64_t run, std::uint32_t attempt, Status status, std::string note);
  /// The same for the begin of its work.
  bool repeat_begin(std::int64_t run, std::uint32_t attempt, std::optional<std::string> waits);
  bool repeat_left(std::int64_t run, std::uint32_t attempt);
  /// The same for an attempt that was put back.
  bool repeat_put_back(std::int64_t run, std::uint32_t attempt);
  std::shared_ptr<AsyncRun::State> take_replayed(std::int64_t run, std::uint32_t attempt);
  /// The end of the attempt no longer counts; asks its handler to stop.
  void let_go(LiveRun& live);
  std::optional<Progress> progress(std::int64_t run) const;

  // --- ending (parts_ending.cc)
  /// The run ends without a further attempt: with 'state', or as failed if an attempt has failed.
  void end(LiveRun& live, RunState state, std::string note);
  void end_attempt(LiveRun& live, const Attempt& attempt);
  /// Ends the runs of a stopped job that have not begun, except those for which someone asked: those whose instants are still to come are
  /// withdrawn, the others are skipped.
  void end_runs_of_stopped(std::int64_t job_id);
  /// Follows an edit or a start of a job. After a change of its schedule or its parents, planned instants that are still to come are
  /// planned again.
  void take_over(const StoredJob& stored);
  /// The handler of the job was changed: its runs that wait for room at the former one begin again.
  void leave_lines(const LiveJob& job);
  static bool begins_otherwise(const Job& before, const Job& after);
  /// Called after such an edit: recomputes what the due runs of the job that have not begun wait for.
  void decide_again(LiveJob& job);
  /// Plans the instants of the roots above these parents again, so that a new child takes part in them.
  void replan_roots(const std::vector<std::string>& parents);
  /// Whether the schedule has planned the run, and it is due in the future.
  bool is_to_come(const LiveRun& live) const;
  void withdraw_runs_to_come(const LiveJob& job);
  /// Removes the row of a run that is to come, and of the runs below it. Its job is planned again at this instant, if it is started. The
  /// next flush_ends() stores this for a whole family at once: a plan in between would leave out the runs whose rows are still there.
  void withdraw(LiveRun& live);
  /// The end of a run is stored: its children may begin, or are skipped.
  void end_family(const std::vector<std::int64_t>& children, const JobRun& parent);
  void skip_children(const std::vector<std::int64_t>& children, const std::string& note);
  /// Forgets the runs of a job that the store has no more.
  void drop_runs(std::int64_t job_id);
  void store_end(LiveRun& live, RunEnd end);
  /// The same, but the next flush_ends() stores it.
  void queue_end(LiveRun& live, RunEnd end);
  void flush_ends();
  /// At the end of a program: submits the ends that wait until earlier ones are stored.
  void submit_last_ends();
  struct Ending;
  static std::optional<WallTime> next_of_delay(JobStore& of, Planner& planner, const Ending& ending);
  static Result<std::optional<WallTime>> next_of_withdrawn(JobStore& of, Planner& planner, const Ending& ending);
  void submit_ends(std::vector<Ending> endings, std::function<void(Result<bool>)> done);
  void ends_stored(const Status& status);
  void take_stored(const std::vector<Ending>& stored);
  bool when_stored(std::int64_t run, std::uint32_t attempt, std::function<void(const Status& why)> stored);
  void report_stored(const std::vector<std::int64_t>& ended, const Status& why);
  /// Calls the listener of Jobs::on_end(), or reports a failure.
  void publish_end(const JobRun& run);
  void stop_waiting(LiveRun& live);
  void remove_waiting_row(const LiveRun& live);
  void forget(LiveRun& live);

  /// Records a call for the journal, before it has an effect.
  template <class... Arguments>
  void record(std::string_view verb, const Arguments&... arguments) {
    if (!calls.is_recorded()) return;
    mark_calls();
    calls.record(call_text(verb, arguments...));
  }

  // --- calls at a wrong place (jobs.cc)
  /// Ends the process if this is another thread than the runtime's.
  void expect_here(std::string_view function) const;
  /// A function of the user is being called.
  struct CallOut {
    explicit CallOut(const Parts& of) : parts(of) { ++parts.calls_out; }
    ~CallOut() { --parts.calls_out; }
    CallOut(const CallOut&) = delete;
    CallOut& operator=(const CallOut&) = delete;
    const Parts& parts;
  };
  /// Calls a function of the user. Returns what it throws, as what 'who' threw.
  Status call_out(const std::function<void()>& call, std::string_view who = "the handler") const;

  // --- the calls that functions of the user make (jobs.cc)
  /// While it lives, a function of the user is being called that may make calls. The journal has marks around those that it makes: a
  /// replay, where the function is absent, makes them at the same place, and no later ones.
  struct CallsWithin {
    /// 'arguments' tell the function apart from those before and after it.
    template <class... Arguments>
    explicit CallsWithin(Parts& of, const Arguments&... arguments) : parts(of) {
      if (of.calls.is_recorded() || of.calls.is_replayed()) text = call_text("in", arguments...);
      parts.within.push_back(this);
    }
    ~CallsWithin();
    CallsWithin(const CallsWithin&) = delete;
    CallsWithin& operator=(const CallsWithin&) = delete;
    /// In a replay, in place of the function.
    void repeat();
    Parts& parts;
    std::string text;
    bool is_marked = false;
  };
  /// Marks the beginnings of the functions under way, before the first call of each.
  void mark_calls();
  /// Calls the 'done' of a caller with the present answer of the store.
  template <class T>
  void call_done(const Done<T>& done, std::type_identity_t<Result<T>> result) {
    CallsWithin marks(*this, "done", store.answered());
    const CallOut mark(*this);
    if (!result && result.error().code() == StatusCode::Unavailable) {
      call_status = result.error();
      call_failed = runtime.scheduler().now();
    }
    if (!done && !result && !calls.is_replayed())
      runtime.report_reject("jobs", Change::event("call", "jobs", {}), result.error().with_context("a call of Jobs without 'done' failed"));
    done ? done(std::move(result)) : marks.repeat();
  }
  /// The same as a 'done' for the store's thread.
  template <class T>
  Done<T> done_for_store(Done<T> done) {
    return [this, done = std::move(done)](Result<T> result) { call_done(done, std::move(result)); };
  }

  LiveRun* find(std::int64_t run) {
    const auto found = runs.find(run);
    return found == runs.end() ? nullptr : &found->second;
  }
  /// The Orch of a priority; null, with health set, if the runtime refuses its table.
  RunQueue* queue(Priority priority);

  struct Ending {
    RunEnd end;
    std::int64_t job_id;
    std::shared_ptr<const Job> job;
    WallTime scheduled;
    bool is_scheduled;  // Of the schedule.
    WallTime known;     // When the end became known here.
  };

  Runtime& runtime;
  const JobsOptions options;
  HooksOf hooks;
  JobTurns& turns;
  std::map<unsigned, RunQueue*> queues;  // By the level of the priority.
  RecordedCalls calls;
  std::vector<CallsWithin*> within;  // From the outermost one on.
  StoreThread store;
  Pools pools;
  PoolChoice pool_choice;
  std::map<std::string, HandlerEntry, std::less<>> handlers;
  /// Started jobs that lacked their handlers when they were read, one for each handler: at most limits::kTroublesNamed.
  std::map<std::string, StoredJob, std::less<>> handlerless;
  std::map<std::string, StoredJob, std::less<>> found_handlerless;  // Those of the pages of replan_page() so far.
  std::unordered_map<std::int64_t, LiveJob> jobs;                   // By id.
  std::unordered_map<std::int64_t, LiveRun> runs;
  std::unordered_map<std::string, std::size_t> runs_of;  // By the name of their job; also those that are being added on request.
  TimeRing ring;
  /// Planned runs that were due when they were taken up. They fire first, in the order of their ids, which is that of their instants: a
  /// missed instant before a later one.
  std::set<std::int64_t> late;
  std::multimap<WallTime, std::int64_t> later;  // Runs that are due beyond the ring: attempts after a long backoff.
  /// Runs that wait for a place in a pool: the highest priority first, then the oldest.
  std::array<std::map<std::pair<int, std::uint64_t>, std::int64_t>, kPools.size()> waiting;
  /// The runs of an asynchronous handler without room, by its name.
  std::map<std::string, Line, std::less<>> lines;
  std::map<std::string, Line, std::less<>> held;  // Those that RemoteHandler::held holds.
  std::set<std::string> served_lines;             // serve_line() is under way for them.
  std::set<std::string> lines_to_serve;           // By line_timer.
  /// In a replay: the attempts of asynchronous handlers, by run. Otherwise the handlers keep them.
  std::map<std::int64_t, std::shared_ptr<AsyncRun::State>> replayed;
  /// Prefixes of handlers for which runs wait, each with what to say about an absent one.
  std::vector<std::pair<std::string, std::function<std::string(std::string_view handler)>>> awaited_handlers;
  std::map<std::string, AwaitedRuns, std::less<>> awaited;  // By handler.
  struct EndedRun {
    std::string key;
    std::string how;  // For people.
  };
  std::map<std::int64_t, EndedRun> last_ended;  // At most limits::kEndedRuns.
  std::vector<FactKind> offered_facts{kJobSucceeded};
  /// Whether the last run of a job succeeded, of the jobs that were asked about. Empty: the store is being asked.
  std::map<std::string, std::optional<bool>, std::less<>> last_ends;
  std::map<std::string, Status> not_stored;  // Jobs whose last definition failed and had no 'done' callback.
  std::uint64_t next_in_line = 1;
  std::multimap<Instant, std::int64_t> deadlines;
  std::multimap<Instant, std::int64_t> stopping;  // When running handlers were asked to stop. May contain runs that have stopped.
  std::function<void(const JobRun& run)> ended_listener;
  std::vector<Ending> ends;                                                    // Not given to the store yet.
  std::vector<Ending> storing;                                                 // Given to the store; no answer yet.
  std::map<std::int64_t, std::function<void(const Status& why)>> end_waiters;  // Jobs::when_stored(), by run.
  std::int64_t recovered_to = 0;                                               // The runs up to this id were taken up.
  /// For checks of parameters that are answered later: it is gone with the Parts.
  std::shared_ptr<Parts*> self = std::make_shared<Parts*>(this);
  bool is_draining = false;
  Instant drained_at;  // At the latest.
  std::function<void(const Status&)> drained;
  bool is_started = false;
  bool was_started = false;        // Jobs::start() was called.
  mutable unsigned calls_out = 0;  // Nested calls of functions of the user.
  bool is_planning = false;
  bool plans_again = false;                          // A cycle was asked for while one was under way.
  bool must_follow = false;                          // follow_changes() must be called.
  bool has_followed = false;                         // follow_changes() was called: the next cycle plans in any case.
  Duration clocks = difference_of(runtime.clock());  // Wall clock less monotonic clock, as of the last answer of the store's thread.
  std::optional<std::string> replan_after;           // The next page to replan begins behind this name; empty: none.
  bool is_replanning = false;
  Instant last_zones;
  Status plan_status;  // Of the last cycle, or of taking up what an earlier process left.
  Status ends_status;  // Of the last attempt to store ends.
  Status call_status;  // Of the last call that the store could not carry out, until something is written; and when that was.
  Instant call_failed;
  std::string planning_trouble;  // Why a job could not be planned.
  Instant last_forget;
  JobsStats stats;
  TimerSource cycle_timer;
  TimerSource ring_timer;
  TimerSource deadline_timer;
  TimerSource line_timer;
  TimerSource drain_timer;
};

}  // namespace rondo::jobs
