// AsyncRuns: the runs of handlers that work elsewhere: who gets the room at a handler, and what becomes of its attempts. Scheduler thread
// only.
#pragma once

#include <map>
#include <set>

#include "jobs/async_state.h"
#include "jobs/ends.h"

namespace rondo::jobs {

class AsyncRuns {
 public:
  AsyncRuns(Core& core, LiveRuns& runs, JobFacts& facts, Handlers& handlers, Ends& ends);

  /// A due run begins, or waits for room at its handler.
  Outcome begin(LiveRun& live, const HandlerEntry& handler, const Ticket& ticket);
  /// Jobs::has_room(): serves the line now, and again in the next turn if a function of the user has called it.
  void take_room(const std::string& name);
  /// Asks the handler about the runs that it holds.
  void check_again(const std::string& name);
  /// The handler was removed: those that waited for room wait for the handler now.
  void leave_line(const std::string& name);
  /// The end of the attempt no longer counts; asks its handler to stop.
  void let_go(LiveRun& live);
  /// The program ends, and the work goes on elsewhere.
  void leave_all();

  /// In a replay: an attempt that is under way; null: there is no such one.
  std::shared_ptr<AsyncRun::State> replayed(std::int64_t run, std::uint32_t attempt) const;
  TimerSource& timer() noexcept { return line_timer_; }

 private:
  friend struct AsyncRun::State;
  /// Calls 'question', which calls functions of an asynchronous handler about a run. Returns what they throw. A replay makes the calls that
  /// they made instead.
  template <class Question>
  Status ask(std::int64_t run, const Question& question) {
    Status thrown;
    Core::CallsWithin{core_, "ask", run}.make([&] { thrown = core_.call_out(question); });
    return thrown;
  }
  /// What an asynchronous handler answers about a run; true if it throws. A replay does not call the handler, and uses the recorded answer.
  /// The handler may remove itself, or end the run, within 'question', which returns its answer.
  template <class Question>
  bool answer_of(std::int64_t run, Status& thrown, const Question& question) {
    bool answer = false;
    thrown = ask(run, [&] { answer = question(); });
    answer = core_.told(answer || !thrown.ok(), "answer", run, true);
    core_.record("answer", run, answer);
    return answer;
  }
  /// The places of runs that wait for a handler: the highest priority first, then the oldest.
  using Line = std::map<std::pair<int, std::uint64_t>, std::int64_t>;
  static std::pair<int, std::uint64_t> place_of(const LiveRun& live) {
    return {-static_cast<int>(live.priority.level()), live.place_in_line};
  }
  /// True if the run still is in a line of the handler.
  bool is_in_line(const LiveRun* live, const std::string& name) const {
    return live != nullptr && live->stage == LiveRun::Stage::Fired && live->ticket && live->line == name;
  }
  static bool has_room(const RemoteHandler& handler, std::int64_t run);
  /// The run, whose row is in flight, waits for room at its handler; or for the handler, if that is absent.
  void stand_in_line(LiveRun& live);
  /// Begins runs that wait in the line of a handler, as long as it has room.
  void serve_line(const std::string& name);
  void serve_lines_again();
  /// 'thrown': what another function of the handler has thrown for this attempt; then the attempt begins and fails.
  void start(LiveRun& live, const RemoteHandler& handler, Status thrown);
  void call_begin(std::shared_ptr<AsyncRun::State> of_attempt, const RemoteHandler& handler, Status thrown);
  /// The work of an attempt begins later, or has begun: then its timeout begins.
  void begin_changed(const AsyncRun::State& changed);
  void ended(const AsyncRun::State& ended);
  bool was_over(const LiveRun& live, const AsyncRun::State& ended);
  void put_back(const AsyncRun::State& ended);
  void left(const AsyncRun::State& left);

  Core& core_;
  LiveRuns& runs_;
  JobFacts& facts_;
  Handlers& handlers_;
  Ends& ends_;
  /// The runs of an asynchronous handler without room, by the name under which it was set.
  std::map<std::string, Line, std::less<>> lines_;
  std::map<std::string, Line, std::less<>> held_;  // Those that RemoteHandler::held holds.
  std::uint64_t next_in_line_ = 1;
  std::set<std::string> served_lines_;    // serve_line() is under way for them.
  std::set<std::string> lines_to_serve_;  // By 'line_timer_'.
  /// In a replay: the attempts, by run. Otherwise the handlers keep them.
  std::map<std::int64_t, std::shared_ptr<AsyncRun::State>> replayed_;
  TimerSource line_timer_;
};

}  // namespace rondo::jobs
