#include "rondo/jobs/forecast.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <utility>
#include <variant>

#include "jobs/planner.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace {

constexpr Duration kMinute = 60s;

std::int64_t minute_of(WallTime time) {
  const std::int64_t width = kMinute.count();
  const std::int64_t at = time.nanoseconds();
  return at >= 0 ? at / width : -((-at + width - 1) / width);
}

/// A started job in simulated time.
struct Planned {
  StoredJob job;
  std::shared_ptr<const CompiledSchedule> compiled;
};

/// A job's next turn at the planner.
struct Look {
  WallTime at;
  std::size_t job;
  friend bool operator>(const Look& a, const Look& b) { return std::pair{a.at, a.job} > std::pair{b.at, b.job}; }
};

struct LaterDue {
  bool operator()(const JobRun& a, const JobRun& b) const { return std::pair{a.due, a.job_id} > std::pair{b.due, b.job_id}; }
};

class World {
 public:
  World(const ForecastOptions& options, const std::function<void(const JobRun&)>& visit) : options_(options), visit_(visit), planner_({}) {
    std::ranges::sort(options_.outages, {}, &Outage::from);
  }

  void add(const StoredJob& stored) {
    if (!stored.is_running || !stored.next) return;
    const auto compiled = planner_.compiled(stored.job, stored.id);
    if (!compiled) {
      found_.troubles.push_back("job '" + stored.job.name + "': " + std::string{compiled.error().message()});
      return;
    }
    // A copy: the planner keeps a bounded number of them.
    jobs_.push_back({stored, std::make_shared<const CompiledSchedule>(**compiled)});
    Planned& planned = jobs_.back();
    if (*planned.job.next < options_.from) {  // What is before is not asked for.
      const auto first = calendar::next_firing(planned.compiled->schedule, *planned.compiled->zone, options_.from + Duration{-1});
      planned.job.next = first ? std::optional{first->scheduled} : std::nullopt;
    }
    look_later(jobs_.size() - 1);
  }

  Forecast run() {
    while (!looks_.empty() && !found_.cut_short) {
      const Look look = looks_.top();
      looks_.pop();
      emit_until(look.at);
      plan(look);
    }
    emit_until(options_.to);
    find_peaks();
    return std::move(found_);
  }

 private:
  /// When a planner that runs at 'at' at the earliest does run.
  WallTime up_at(WallTime at) const {
    for (const Outage& outage : options_.outages) {
      if (outage.from <= at && at < outage.to) at = outage.to;
    }
    return at;
  }

  void look_later(std::size_t job) {
    const auto& next = jobs_[job].job.next;
    if (!next || *next >= options_.to) return;
    // The first cycle of the planner that finds it.
    const Duration ahead = std::max(*next + -options_.window - options_.from, Duration{0});
    const WallTime at = up_at(options_.from + (ahead + options_.cycle - 1ns) / options_.cycle * options_.cycle);
    if (at < options_.to) looks_.push({at, job});
  }

  void plan(const Look& look) {
    Planned& planned = jobs_[look.job];
    Plan made = plan_job(planned.job, *planned.compiled, look.at, {.window = options_.window, .grace = options_.grace});
    planned.job.next = made.next;
    for (JobRun& run : made.runs) {
      run.due = up_at(run.due);
      const WallTime ended = run.due;
      runs_.push(std::move(run));
      // The run takes no time, and the next one counts from its end.
      if (planned.job.next || !std::holds_alternative<calendar::FixedDelay>(planned.compiled->schedule.when)) continue;
      const auto next = calendar::next_firing(planned.compiled->schedule, *planned.compiled->zone, ended);
      planned.job.next = next ? std::optional{next->scheduled} : std::nullopt;
    }
    look_later(look.job);
  }

  void emit_until(WallTime time) {
    while (!runs_.empty() && runs_.top().due <= time && !found_.cut_short) {
      const JobRun& run = runs_.top();
      if (run.due < options_.to) emit(run);
      runs_.pop();
    }
  }

  void emit(const JobRun& run) {
    if (++emitted_ > options_.runs_max) {
      found_.cut_short = true;
      return;
    }
    found_.missed += run.missed;
    if (run.state == RunState::Skipped) {
      ++found_.skipped;
    } else {
      ++found_.firings;
      if (run.band == Band::Misfire) ++found_.misfires;
      const auto minute = static_cast<std::size_t>(minute_of(run.due) - minute_of(options_.from));
      if (found_.minutes.size() <= minute) found_.minutes.resize(minute + 1);
      ++found_.minutes[minute];
    }
    if (visit_) visit_(run);
  }

  void find_peaks() {
    const auto& minutes = found_.minutes;
    std::vector<std::size_t> largest;
    for (std::size_t minute = 0; minute < minutes.size(); ++minute) {
      if (minutes[minute] > 0) largest.push_back(minute);
    }
    const std::size_t count = std::min(options_.peaks, largest.size());
    std::ranges::partial_sort(largest, largest.begin() + static_cast<std::ptrdiff_t>(count), [&minutes](std::size_t a, std::size_t b) {
      return minutes[a] != minutes[b] ? minutes[a] > minutes[b] : a < b;
    });
    for (std::size_t i = 0; i < count; ++i) {
      const auto number = minute_of(options_.from) + static_cast<std::int64_t>(largest[i]);
      const WallTime minute = WallTime::from_nanoseconds(number * kMinute.count());
      found_.peaks.push_back({.minute = minute, .firings = minutes[largest[i]], .jobs = busiest_in(minute)});
    }
  }

  /// The jobs with the most instants in a minute.
  std::vector<std::string> busiest_in(WallTime minute) const {
    std::vector<std::pair<std::uint64_t, const std::string*>> counts;
    for (const Planned& planned : jobs_) {
      std::uint64_t count = 0;
      auto at = next_after(*planned.compiled, minute + Duration{-1});
      for (; at && at->scheduled < minute + kMinute && count < limits::kRunsOfPlan; at = next_after(*planned.compiled, at->scheduled))
        ++count;
      if (count > 0) counts.emplace_back(count, &planned.job.job.name);
    }
    std::ranges::stable_sort(counts, std::ranges::greater{}, &std::pair<std::uint64_t, const std::string*>::first);
    std::vector<std::string> names;
    for (const auto& [count, name] : counts) {
      if (names.size() == limits::kPeakJobs) break;
      names.push_back(*name);
    }
    return names;
  }

  ForecastOptions options_;
  const std::function<void(const JobRun&)>& visit_;
  Planner planner_;
  std::vector<Planned> jobs_;
  std::priority_queue<Look, std::vector<Look>, std::greater<>> looks_;
  std::priority_queue<JobRun, std::vector<JobRun>, LaterDue> runs_;
  std::uint64_t emitted_ = 0;
  Forecast found_;
};

}  // namespace

Result<Forecast> forecast(std::span<const StoredJob> jobs, const ForecastOptions& options,
                          const std::function<void(const JobRun& run)>& visit) {
  if (options.from >= options.to) return failure(StatusCode::InvalidArgument, "the time to is not after the time from");
  if (options.to - options.from > limits::kForecastSpan)
    return failure(StatusCode::InvalidArgument,
                   "a forecast is for at most " + std::to_string(limits::kForecastSpan / (24 * 3600s)) + " days");
  if (std::ranges::any_of(options.outages, [](const Outage& outage) { return outage.from >= outage.to; }))
    return failure(StatusCode::InvalidArgument, "an outage ends before it begins");
  World world(options, visit);
  for (const StoredJob& job : jobs) world.add(job);
  return world.run();
}

}  // namespace rondo::jobs
