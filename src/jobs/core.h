// Core: what all parts of a Jobs use: the runtime, the settings, the wall clock, the thread of the store, and the calls that functions of
// the user make, as the journal records them. It knows no run. Scheduler thread only.
#pragma once

#include "jobs/job_calls.h"
#include "jobs/store_thread.h"
#include "rondo/jobs/jobs.h"
#include "sched/recorded_calls.h"

namespace rondo::jobs {

/// Why no run begins without Core::may_begin().
inline constexpr std::string_view kUnsure = "another scheduler may run the jobs, because the claim of this one is not renewed";

struct Core {
  /// 'repeat' makes a recorded call again (RecordedCalls). 'on_clocks' receives a change of wall_now() beside that of the time.
  Core(Runtime& runtime, std::shared_ptr<JobStore> store, const JobsOptions& options, std::function<bool(std::string_view)> repeat,
       std::function<void(Duration step)> on_clocks);

  Instant now() const { return runtime.scheduler().now(); }
  WallTime wall_now() const { return WallTime::from_nanoseconds(now().nanoseconds()) + clocks; }
  /// To Runtime::on_reject.
  void report(const Change& change, const Status& why) const { runtime.report_reject("jobs", change, why); }

  // --- calls at a wrong place
  /// Ends the process if this is another thread than the runtime's.
  void expect_here(std::string_view function) const;
  /// A function of the user is being called.
  struct CallOut {
    explicit CallOut(const Core& of) : core(of) { ++core.calls_out; }
    ~CallOut() { --core.calls_out; }
    CallOut(const CallOut&) = delete;
    CallOut& operator=(const CallOut&) = delete;
    const Core& core;
  };
  /// Calls a function of the user. Returns what it throws, as what 'who' threw.
  Status call_out(const std::function<void()>& call, std::string_view who = "the handler") const;

  // --- the calls that functions of the user make
  /// While it lives, a function of the user is being called that may make calls. The journal has marks around those that it makes: a
  /// replay, where the function is absent, makes them at the same place, and no later ones.
  struct CallsWithin {
    /// 'arguments' tell the function apart from those before and after it.
    template <class... Arguments>
    explicit CallsWithin(Core& of, const Arguments&... arguments) : core(of) {
      if (of.calls.is_recorded() || of.calls.is_replayed()) text = call_text("in", arguments...);
      core.within.push_back(this);
    }
    ~CallsWithin();
    CallsWithin(const CallsWithin&) = delete;
    CallsWithin& operator=(const CallsWithin&) = delete;
    /// Calls the function; a replay makes the calls that it made.
    template <class Function>
    void make(const Function& function) {
      core.calls.is_replayed() ? repeat() : function();
    }
    void repeat();
    Core& core;
    std::string text;
    bool is_marked = false;
  };
  /// Marks the beginnings of the functions under way, before the first call of each.
  void mark_calls();
  /// What a function of the user answered: 'answer', or in a replay whether record() was called with these arguments.
  template <class... Arguments>
  bool told(bool answer, std::string_view verb, const Arguments&... arguments) {
    return calls.is_replayed() ? calls.is_next(call_text(verb, arguments...)) : answer;
  }
  /// JobStore::may_begin(), for a run. False: unsure() becomes of it.
  bool may_begin(std::int64_t run) {
    const bool is_held = told(!store.may_begin(now()), "unsure", run);
    if (is_held) record("unsure", run);
    return !is_held;
  }
  static Outcome unsure() { return Outcome::retry_after(100ms, {StatusCode::Unavailable, std::string{kUnsure}}); }
  /// Calls the 'done' of a caller with the present answer of the store.
  template <class T>
  void call_done(const Jobs::Done<T>& done, std::type_identity_t<Result<T>> result) {
    CallsWithin marks(*this, "done", store.answered());
    const CallOut mark(*this);
    if (!result && result.error().code() == StatusCode::Unavailable) {
      call_status = result.error();
      call_failed = now();
    }
    if (!done && !result && !calls.is_replayed())
      report(Change::event("call", "jobs", {}), result.error().with_context("a call of Jobs without 'done' failed"));
    done ? done(std::move(result)) : marks.repeat();
  }
  /// The same as a 'done' for the store's thread.
  template <class T>
  Jobs::Done<T> done_for_store(Jobs::Done<T> done) {
    return [this, done = std::move(done)](Result<T> result) { call_done(done, std::move(result)); };
  }

  /// Reads something of the store for the caller of a function of Jobs.
  template <class T>
  void read(std::string name, std::function<Result<T>(JobStore&, Planner&)> work, Jobs::Done<T> done) {
    store.submit<T>(std::move(name), std::move(work), done_for_store(std::move(done)), Commit::Alone, recorded);
  }

  /// A function of Jobs was called: checks the thread, and records the call for the journal, before it has an effect.
  template <class... Arguments>
  void called(std::string_view function, const Arguments&... arguments) {
    expect_here(function);
    record(function, arguments...);
  }
  template <class... Arguments>
  void record(std::string_view verb, const Arguments&... arguments) {
    if (!calls.is_recorded()) return;
    mark_calls();
    calls.record(call_text(verb, arguments...));
  }

  Runtime& runtime;
  const JobsOptions options;
  Duration clocks;  // Wall clock less monotonic clock, as of the last answer of the store's thread.
  RecordedCalls calls;
  std::vector<CallsWithin*> within;  // From the outermost one on.
  StoreThread store;
  Recorded recorded = Recorded::Result;  // How the reads that begin now are recorded: ForCaller changes it.
  mutable unsigned calls_out = 0;        // Nested calls of functions of the user.
  Status call_status;  // Of the last call that the store could not carry out, until something is written; and when that was.
  Instant call_failed;
};

}  // namespace rondo::jobs
