// MatrixModel: what the guide promises for a cell of the job matrix, as a plain walk through its story (matrix.h): which runs exist at the
// end, how each ended, and in which order handlers were called. It shares no code with the planner. Tests only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobs/testing/matrix.h"
#include "rondo/jobs/job_run.h"

namespace rondo::jobs::test {

struct ExpectedRun {
  Ms scheduled;
  Band band;
  RunState state = RunState::Due;
  std::uint64_t missed = 0;
  unsigned calls = 0;
  unsigned failed = 0;  // Attempts.
  Ms due = 0;           // Of the next attempt, if one has failed.
};

inline std::string text_of(Ms scheduled, Band band, RunState state, std::uint64_t missed, unsigned calls) {
  return std::to_string(scheduled) + " ms, " + std::string{to_string(band)} + ", " + std::string{to_string(state)} + ", missed " +
         std::to_string(missed) + ", called " + std::to_string(calls);
}

class MatrixModel {
 public:
  explicit MatrixModel(const MatrixCell& cell) : cell_(cell) {
    const bool has_quiet_end = cell.ending == Ending::Terminated || cell.ending == Ending::KilledAndLostFile;
    live(kFirstBegins, has_quiet_end ? kQuietEnd : kSecondBegins);
    if (cell.ending == Ending::KilledAndLostFile) {
      rows_.clear();
      calls_.clear();
      has_job_ = false;
    }
    live(kSecondBegins, INT64_MAX);
  }
  std::vector<std::string> runs() const {
    std::vector<std::string> texts;
    for (const ExpectedRun& row : rows_) texts.push_back(text_of(row.scheduled, row.band, row.state, row.missed, row.calls));
    return texts;
  }
  /// The scheduled instants of the calls, in their order; without those before the loss of the file.
  const std::vector<Ms>& calls() const { return calls_; }
  /// True if the step at which the process is to be killed was reached.
  bool has_died() const { return has_died_; }

 private:
  struct Running {
    std::size_t row;
    Ms ends;
  };

  // --- The schedule
  /// The first instant after 'after'; for a fixed delay 'after' is the end of a run.
  std::optional<Ms> instant_after(Ms after) const {
    Ms instant = 0;
    switch (cell_.kind) {
      case ScheduleKind::TriggerOnly: return std::nullopt;
      case ScheduleKind::Cron:
      case ScheduleKind::FixedRate:
        while (instant <= after) instant += kPeriod;
        break;
      case ScheduleKind::FixedDelay: instant = after + kDelay; break;
      case ScheduleKind::OneShot:
        if (kOneShot <= after) return std::nullopt;
        instant = kOneShot;
        break;
    }
    return instant < kUntil ? std::optional{instant} : std::nullopt;
  }

  // --- A process
  void live(Ms begins, Ms ends) {
    is_alive_ = true;
    if (!has_job_) next_ = instant_after(begins);
    has_job_ = true;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (rows_[row].state == RunState::Due) due_.emplace(std::max({begins, rows_[row].scheduled, rows_[row].due}), row);
    }
    Ms cycle = begins;
    Ms trigger = cell_.kind == ScheduleKind::TriggerOnly ? (begins + 10 * kPeriod) / kPeriod * kPeriod - 9 * kPeriod : kUntil;
    while (is_alive_) {
      const auto end = std::ranges::min_element(running_, {}, &Running::ends);
      const Ms next_end = end == running_.end() ? INT64_MAX : end->ends;
      const Ms next_due = due_.empty() ? INT64_MAX : due_.begin()->first;
      const Ms next_trigger = trigger < kUntil ? trigger : INT64_MAX;
      const Ms next_cycle = cycle < kUntil + kCycle ? cycle : INT64_MAX;
      now_ = std::min({next_end, next_due, next_trigger, next_cycle});
      if (now_ >= ends || now_ == INT64_MAX) break;
      if (now_ == next_due) {
        const std::size_t row = due_.begin()->second;
        due_.erase(due_.begin());
        fire(row);
      } else if (now_ == next_cycle) {
        cycle += kCycle;
        plan();
      } else if (now_ == next_trigger) {
        trigger += kPeriod;
        store({{.scheduled = now_, .band = Band::Manual}}, next_);
      } else {
        const std::size_t row = end->row;
        running_.erase(end);
        end_attempt(row);
        begin_next();
      }
    }
    due_.clear();
    running_.clear();
    waiting_.clear();
  }

  // --- Planning
  void plan() {
    std::vector<ExpectedRun> runs;
    std::vector<Ms> missed;
    std::optional<Ms> next = next_;
    while (next && *next <= now_ + kWindow) {
      const Ms late = now_ - *next;
      if (late > kGrace) {
        missed.push_back(*next);
      } else {
        runs.push_back({.scheduled = *next, .band = late > kWindow ? Band::Direct : Band::Ring});
      }
      // A delay continues from the end of the run.
      next = cell_.kind == ScheduleKind::FixedDelay ? std::nullopt : instant_after(*next);
    }
    if (!missed.empty()) {
      const std::vector<ExpectedRun> late = misfires(missed);
      runs.insert(runs.begin(), late.begin(), late.end());
      const bool is_skipped_delay = cell_.kind == ScheduleKind::FixedDelay && cell_.misfire == Misfire::DoNothing;
      if (is_skipped_delay) next = instant_after(now_);
    }
    if (!runs.empty()) store(std::move(runs), next);
  }
  std::vector<ExpectedRun> misfires(const std::vector<Ms>& missed) const {
    std::size_t rows = 0;
    switch (cell_.misfire) {
      case Misfire::DoNothing:
      case Misfire::FireOnce: rows = 1; break;
      case Misfire::FireLast: rows = kFireLast; break;
      case Misfire::FireAll: rows = missed.size(); break;
    }
    rows = std::min(rows, missed.size());
    std::vector<ExpectedRun> runs;
    for (std::size_t i = missed.size() - rows; i < missed.size(); ++i) {
      runs.push_back({.scheduled = missed[i],
                      .band = Band::Misfire,
                      .state = cell_.misfire == Misfire::DoNothing ? RunState::Skipped : RunState::Due});
    }
    runs.front().missed = missed.size() - rows;
    return runs;
  }
  void store(std::vector<ExpectedRun> runs, std::optional<Ms> next) {
    const bool is_killed = reaches(Step::Plan);
    if (is_killed) is_alive_ = false;
    if (is_killed && cell_.ending == Ending::KilledBeforePlan) return;
    next_ = next;
    for (const ExpectedRun& run : runs) {
      if (run.state == RunState::Due) due_.emplace(std::max(now_, run.scheduled), rows_.size());
      rows_.push_back(run);
    }
  }

  // --- Running
  void fire(std::size_t row) {
    switch (cell_.overlap) {
      case Overlap::Serial:
      case Overlap::Concurrent:
        // In the order of the instants, also a further attempt.
        waiting_.insert(std::ranges::upper_bound(waiting_, row), row);
        begin_next();
        break;
      case Overlap::Discard: running_.empty() ? call(row) : stop(row, RunState::Discarded); break;
      case Overlap::Cover: {
        if (std::ranges::any_of(running_, [row](const Running& other) { return other.row > row; })) return stop(row, RunState::Killed);
        const std::vector<Running> covered = std::exchange(running_, {});
        call(row);  // The ends of the others are stored after the turn.
        for (const Running& other : covered) stop(other.row, RunState::Killed);
        break;
      }
    }
  }
  /// A run of which an attempt has failed is failed, whatever ends it.
  void stop(std::size_t row, RunState state) { finish(row, rows_[row].failed > 0 ? RunState::Failed : state); }
  void end_attempt(std::size_t row) {
    if (cell_.attempts == Attempts::Succeed) return finish(row, RunState::Succeeded);
    if (rows_[row].failed > 0) return finish(row, RunState::Failed);
    if (!stores_end()) return;
    rows_[row].failed = 1;
    rows_[row].due = now_ + kBackoff;
    if (is_alive_) due_.emplace(rows_[row].due, row);
  }
  void begin_next() {
    const std::size_t most = cell_.overlap == Overlap::Concurrent ? kConcurrency : 1;
    while (is_alive_ && !waiting_.empty() && running_.size() < most) {
      const std::size_t row = waiting_.front();
      waiting_.pop_front();
      call(row);
    }
  }
  void call(std::size_t row) {
    const bool is_killed = reaches(Step::Call);
    if (is_killed) is_alive_ = false;
    if (is_killed && cell_.ending == Ending::KilledBeforeCall) return;
    ++rows_[row].calls;
    calls_.push_back(rows_[row].scheduled);
    running_.push_back({row, now_ + kTakes});
  }
  /// True if the database gets the end of an attempt or of a run.
  bool stores_end() {
    if (!is_alive_) return false;
    const bool is_killed = reaches(Step::End);
    if (is_killed) is_alive_ = false;
    return !is_killed || cell_.ending != Ending::KilledBeforeEnd;
  }
  void finish(std::size_t row, RunState state) {
    if (!stores_end()) return;
    rows_[row].state = state;
    if (cell_.kind == ScheduleKind::FixedDelay) next_ = instant_after(now_);
  }

  // --- The kill
  bool reaches(Step step) {
    const std::optional<Step> killed_at = step_of(cell_.ending);
    if (has_died_ || killed_at != step || ++steps_ < killed_firing(cell_.kind)) return false;
    has_died_ = true;
    return true;
  }

 public:
  /// Empty for an ending that is not at a step.
  static std::optional<Step> step_of(Ending ending) {
    switch (ending) {
      case Ending::KilledBeforePlan:
      case Ending::KilledAfterPlan: return Step::Plan;
      case Ending::KilledBeforeCall:
      case Ending::KilledAfterCall: return Step::Call;
      case Ending::KilledBeforeEnd:
      case Ending::KilledAfterEnd: return Step::End;
      case Ending::Terminated:
      case Ending::KilledAndLostFile: return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  const MatrixCell cell_;
  // What the database has.
  std::vector<ExpectedRun> rows_;
  std::optional<Ms> next_;
  bool has_job_ = false;
  // What the process has.
  Ms now_ = 0;
  bool is_alive_ = true;
  std::multimap<Ms, std::size_t> due_;
  std::deque<std::size_t> waiting_;
  std::vector<Running> running_;
  // What the test counts.
  std::vector<Ms> calls_;
  unsigned steps_ = 0;
  bool has_died_ = false;
};

}  // namespace rondo::jobs::test
