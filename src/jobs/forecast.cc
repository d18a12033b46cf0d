#include "rondo/jobs/forecast.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>

#include "jobs/family.h"
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

/// A started job with a schedule, in simulated time, and the jobs below it.
struct Planned {
  StoredJob job;
  std::shared_ptr<const CompiledSchedule> compiled;
  std::vector<Descendant> below = {};
};

/// The jobs with parents, also the stopped ones: a job runs only if all jobs above it do.
class Children {
 public:
  void add(const StoredJob& child) {
    const std::size_t place = children_.size();
    children_.push_back(child);
    for (const std::string& parent : child.job.parents) of_parent_.emplace(parent, place);
  }
  std::vector<Descendant> below(const std::string& top) const {
    std::map<std::string, StoredJob> found;
    std::vector<std::string> line{top};
    for (std::size_t at = 0; at < line.size(); ++at) {
      const auto [first, last] = of_parent_.equal_range(line[at]);
      for (auto child = first; child != last; ++child) {
        const StoredJob& stored = children_[child->second];
        if (found.emplace(stored.job.name, stored).second) line.push_back(stored.job.name);
      }
    }
    return placed_below(top, found);
  }

 private:
  std::vector<StoredJob> children_;
  std::multimap<std::string, std::size_t> of_parent_;
};

/// A run that the forecast has not shown yet. Equal times follow the ids of the roots; a run is behind those of its parents.
struct Expected {
  JobRun run;
  std::int64_t root = 0;
  std::size_t place = 0;  // In the family.
};

/// A job's next turn at the planner.
struct Look {
  WallTime at;
  std::size_t job;
  friend bool operator>(const Look& a, const Look& b) { return std::pair{a.at, a.job} > std::pair{b.at, b.job}; }
};

struct LaterDue {
  bool operator()(const Expected& a, const Expected& b) const {
    return std::tuple{a.run.due, a.root, a.run.scheduled, a.place} > std::tuple{b.run.due, b.root, b.run.scheduled, b.place};
  }
};

class World {
 public:
  World(const ForecastOptions& options, const std::function<void(const JobRun&)>& visit)
      : options_(options), now_(options.now.value_or(options.from)), visit_(visit), planner_({}) {
    std::ranges::sort(options_.outages, {}, &Outage::from);
    std::erase_if(options_.runs, [](const JobRun& run) { return is_final(run.state); });
    for (const JobRun& run : options_.runs) {
      if (run.band != Band::Manual) planned_.emplace(run.job_id, run.scheduled);
      if (is_requested(run.band) || run.attempt > 0) continue;
      JobRun due = run;
      due.due = up_at(run.due);
      runs_.push({std::move(due), 0, runs_.size()});
    }
  }

  void add(const StoredJob& stored) {
    if (!stored.job.parents.empty()) return children_.add(stored);
    if (!stored.is_running || !is_readable(stored)) return;
    if (!stored.next && !is_delay(stored.job)) return;
    const auto compiled = planner_.compiled(stored.job, stored.id);
    if (!compiled) {
      found_.troubles.push_back("job '" + stored.job.name + "': " + std::string{compiled.error().message()});
      return;
    }
    // A copy: the planner keeps a bounded number of them.
    jobs_.push_back({stored, std::make_shared<const CompiledSchedule>(**compiled)});
    Planned& planned = jobs_.back();
    if (!planned.job.next) go_on_after_runs(planned);
    // What is due long before 'from' is not asked for.
    const WallTime asked = options_.from + -planned.compiled->schedule.jitter.most + -options_.window + -options_.cycle;
    if (asked > now_ && planned.job.next && *planned.job.next < asked) move_on(planned, asked);
    check_later(jobs_.size() - 1);
  }

  Forecast run() {
    for (Planned& planned : jobs_) planned.below = children_.below(planned.job.job.name);
    while (!checks_.empty() && !found_.cut_short) {
      const Look look = checks_.top();
      checks_.pop();
      emit_until(look.at);
      plan(look);
    }
    emit_until(options_.to);
    end_minute();
    return std::move(found_);
  }

 private:
  static void move_on(Planned& planned, WallTime after) {
    const auto next = calendar::next_firing(planned.compiled->schedule, *planned.compiled->zone, after);
    planned.job.next = next ? std::optional{next->scheduled} : std::nullopt;
  }

  /// A fixed delay goes on from the end of its run.
  void go_on_after_runs(Planned& planned) {
    for (const JobRun& run : options_.runs) {
      if (run.job_id == planned.job.id && !is_requested(run.band)) move_on(planned, up_at(std::max(run.due, now_)));
    }
  }

  /// When a planner that runs at 'at' at the earliest does run.
  WallTime up_at(WallTime at) const {
    for (const Outage& outage : options_.outages) {
      if (outage.from <= at && at < outage.to) at = outage.to;
    }
    return at;
  }

  void check_later(std::size_t job) {
    const auto& next = jobs_[job].job.next;
    if (!next || *next >= options_.to) return;
    // The first cycle of the planner that finds it.
    const Duration ahead = std::max(*next + -options_.window - now_, Duration{0});
    const WallTime at = up_at(now_ + (ahead + options_.cycle - 1ns) / options_.cycle * options_.cycle);
    if (at < options_.to) checks_.push({at, job});
  }

  void plan(const Look& look) {
    Planned& planned = jobs_[look.job];
    const std::size_t runs_max = std::max<std::size_t>(limits::kRunsOfPlan / (1 + planned.below.size()), 1);
    Plan made = plan_job(planned.job, *planned.compiled, look.at, {.window = options_.window, .grace = options_.grace}, runs_max);
    planned.job.next = made.next;
    for (JobRun& run : made.runs) {
      if (planned_.contains({run.job_id, run.scheduled})) continue;  // It has a row.
      run.due = up_at(run.due);
      const WallTime ended = run.due;
      expect(std::move(run), planned);
      // The run takes no time, and the next one counts from its end.
      if (planned.job.next || !std::holds_alternative<calendar::FixedDelay>(planned.compiled->schedule.when)) continue;
      move_on(planned, ended);
    }
    check_later(look.job);
  }

  /// A run of a root, and those of the jobs below.
  void expect(JobRun run, const Planned& planned) {
    family_.clear();
    append_family(family_, std::move(run), planned.below);
    for (std::size_t place = 0; place < family_.size(); ++place) runs_.push({std::move(family_[place]), planned.job.id, place});
  }

  void emit_until(WallTime time) {
    while (!runs_.empty() && runs_.top().run.due <= time && !found_.cut_short) {
      const JobRun& run = runs_.top().run;
      if (options_.from <= run.due && run.due < options_.to) emit(run);
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
      count_firing(minute_of(run.due), run.job);
    }
    if (visit_) visit_(run);
  }

  /// Counts a firing of the minute that the forecast has come to. Minutes come in order.
  void count_firing(std::int64_t minute, const std::string& job) {
    if (minute != minute_) end_minute();
    minute_ = minute;
    const auto [place, is_new] = places_.try_emplace(job, firing_jobs_.size());
    if (is_new) firing_jobs_.push_back({0, job});
    ++firing_jobs_[place->second].firings;
  }

  /// Keeps the minute if it is one of the largest, before equal ones that follow.
  void end_minute() {
    std::uint64_t firings = 0;
    for (const FiringJob& of : firing_jobs_) firings += of.firings;
    const auto behind = std::ranges::find_if(found_.peaks, [firings](const ForecastPeak& peak) { return peak.firings < firings; });
    if (firings > 0 && (behind != found_.peaks.end() || found_.peaks.size() < options_.peaks)) {
      const WallTime minute = WallTime::from_nanoseconds(minute_ * kMinute.count());
      found_.peaks.insert(behind, {.minute = minute, .firings = firings, .jobs = busiest()});
      if (found_.peaks.size() > options_.peaks) found_.peaks.pop_back();
    }
    places_.clear();
    firing_jobs_.clear();
  }

  /// The jobs with the most firings in the minute; of equal ones those that fire first.
  std::vector<std::string> busiest() {
    std::ranges::stable_sort(firing_jobs_, std::ranges::greater{}, &FiringJob::firings);
    std::vector<std::string> names;
    for (const FiringJob& of : firing_jobs_) {
      if (names.size() == limits::kPeakJobs) break;
      names.push_back(of.job);
    }
    return names;
  }

  struct FiringJob {
    std::uint64_t firings = 0;
    std::string job;
  };

  ForecastOptions options_;
  const WallTime now_;
  const std::function<void(const JobRun&)>& visit_;
  Planner planner_;
  std::vector<Planned> jobs_;
  Children children_;
  std::vector<JobRun> family_;                           // Of one instant.
  std::set<std::pair<std::int64_t, WallTime>> planned_;  // Instants that have a row.
  std::priority_queue<Look, std::vector<Look>, std::greater<>> checks_;
  std::priority_queue<Expected, std::vector<Expected>, LaterDue> runs_;
  std::uint64_t emitted_ = 0;
  std::int64_t minute_ = 0;                              // The minute whose firings are counted.
  std::vector<FiringJob> firing_jobs_;                   // The firings of this minute by job, in the order of the first firing.
  std::unordered_map<std::string, std::size_t> places_;  // Job name to its place in firing_jobs_.
  Forecast found_;
};

}  // namespace

Result<Forecast> forecast(std::span<const StoredJob> jobs, const ForecastOptions& options,
                          const std::function<void(const JobRun& run)>& visit) {
  if (options.from >= options.to) return failure(StatusCode::InvalidArgument, "the time to is not after the time from");
  // Of times that are centuries apart the signed difference would overflow.
  const auto nanoseconds = [](WallTime at) { return static_cast<std::uint64_t>(at.nanoseconds()); };
  if (nanoseconds(options.to) - nanoseconds(options.from) > static_cast<std::uint64_t>(limits::kForecastSpan / 1ns))
    return failure(StatusCode::InvalidArgument,
                   "a forecast is for at most " + std::to_string(limits::kForecastSpan / (24 * 3600s)) + " days");
  if (options.cycle <= Duration{} || options.window < 2 * options.cycle || options.grace < Duration{})
    return failure(StatusCode::InvalidArgument, "a forecast needs a cycle above 0, a window of at least two cycles, and no negative grace");
  if (std::ranges::any_of(options.outages, [](const Outage& outage) { return outage.from >= outage.to; }))
    return failure(StatusCode::InvalidArgument, "an outage ends before it begins");
  World world(options, visit);
  for (const StoredJob& job : jobs) world.add(job);
  return world.run();
}

}  // namespace rondo::jobs
