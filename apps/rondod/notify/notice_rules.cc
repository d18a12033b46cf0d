#include "rondod/notify/notice_rules.h"

#include <algorithm>

#include "rondo/jobs/limits.h"
#include "rondod/limits.h"

namespace rondo::daemon {

namespace {

constexpr Duration kBetween = 60s;          // Notices of one kind for a job.
constexpr std::size_t kLateOfPoll = 1'000;  // Runs whose time a poll checks.

bool has_failed(const jobs::JobRun& run) { return run.state == jobs::RunState::Failed || run.state == jobs::RunState::TimedOut; }

}  // namespace

NoticeRules::NoticeRules(const NotifyChoice& choice, std::function<void(Notice)> send)
    : choice_(choice), pattern_(choice.jobs), late_(choice.late_s * 1s), send_(std::move(send)) {}

bool NoticeRules::has(Event event) const { return std::ranges::find(choice_.events, to_string(event)) != choice_.events.end(); }

bool NoticeRules::is_for(const std::string& job) const { return !job.starts_with(kNotifyPrefix) && pattern_.matches(job); }

NoticeRules::Told* NoticeRules::told(const std::string& job) {
  const auto known = told_.find(job);
  if (known != told_.end()) return &known->second;
  if (told_.size() < limits::kNotifyJobs) return &told_[job];
  ++dropped_;
  return nullptr;
}

void NoticeRules::tell(Gate& gate, Notice notice, Instant now) {
  if (!has(notice.event)) return;
  if (gate.held) ++gate.more;
  gate.held = std::move(notice);
  if (now < gate.opens) return;
  gate.held->more = std::exchange(gate.more, 0);
  gate.opens = now + kBetween;
  send_(*std::exchange(gate.held, std::nullopt));
}

void NoticeRules::due(const jobs::JobRun& run, Instant now, WallTime wall) {
  // What a worker or an executor may have had before a restart has begun.
  if (run.attempt > 0 || !run.worker.empty() || !has(Event::Late) || !is_for(run.job)) return;
  if (run.due + late_ <= wall) return late(run, now, wall);
  if (late_from_.size() < limits::kLiveRuns) late_from_.emplace(run.due + late_, run.id);
}

void NoticeRules::late(const jobs::JobRun& run, Instant now, WallTime wall) {
  if (Told* const of = told(run.job))
    tell(of->gates[static_cast<std::size_t>(Event::Late)], {.event = Event::Late, .run = run, .late = wall - run.due}, now);
}

void NoticeRules::ended(const jobs::JobRun& run, Instant now) {
  late_from_.erase({run.due + late_, run.id});
  const bool has_succeeded = run.state == jobs::RunState::Succeeded;
  if ((!has_succeeded && !has_failed(run)) || !is_for(run.job)) return;
  if (has_succeeded && !told_.contains(run.job)) return;
  Told* const of = told(run.job);
  if (of == nullptr) return;
  Gate& failures = of->gates[static_cast<std::size_t>(Event::Failure)];
  Gate& recoveries = of->gates[static_cast<std::size_t>(Event::Recovery)];
  if (!has_succeeded) {
    recoveries.held.reset();
    tell(failures, {.event = Event::Failure, .run = run, .failures = ++of->failures}, now);
  } else if (of->failures > 0) {
    // A failure that is not sent yet is over: the recovery has the number.
    failures.held.reset();
    failures.more = 0;
    tell(recoveries, {.event = Event::Recovery, .run = run, .failures = std::exchange(of->failures, 0)}, now);
  }
}

void NoticeRules::failed_before(const std::string& job) {
  if (!is_for(job)) return;
  if (Told* const of = told(job)) of->failures = std::max<std::uint64_t>(of->failures, 1);
}

void NoticeRules::poll(Instant now, WallTime wall, const std::function<const jobs::JobRun*(std::int64_t run)>& waiting) {
  for (std::size_t i = 0; i < kLateOfPoll && !late_from_.empty() && late_from_.begin()->first <= wall; ++i) {
    const std::int64_t id = late_from_.extract(late_from_.begin()).value().second;
    if (const jobs::JobRun* const run = waiting(id)) late(*run, now, wall);
  }
  for (auto at = told_.begin(); at != told_.end();) {
    bool is_needed = at->second.failures > 0;
    for (Gate& gate : at->second.gates) {
      if (gate.held && now >= gate.opens) tell(gate, Notice{*std::exchange(gate.held, std::nullopt)}, now);
      is_needed = is_needed || now < gate.opens;
    }
    at = is_needed ? std::next(at) : told_.erase(at);
  }
}

}  // namespace rondo::daemon
