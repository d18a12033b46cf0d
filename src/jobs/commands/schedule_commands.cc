// The admin commands about instants: job-next, job-preview, job-load.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "calendar/civil.h"
#include "calendar/zone_span.h"
#include "commands/answers.h"
#include "jobs/commands/page_line.h"
#include "jobs/commands/parts.h"
#include "jobs/for_caller.h"
#include "jobs/handler_names.h"
#include "jobs/job_json.h"
#include "jobs/planner.h"
#include "rondo/base/clock.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace json = boost::json;
using calendar::Firing;
using calendar::Zone;
using commands::sentence;
using commands::text;

std::vector<Firing> next_firings(const CompiledSchedule& compiled, WallTime after, std::size_t max) {
  if (std::holds_alternative<calendar::FixedDelay>(compiled.schedule.when)) max = 1;
  std::vector<Firing> firings;
  for (WallTime at = after; firings.size() < max;) {
    const auto firing = calendar::next_firing(compiled.schedule, *compiled.zone, at);
    if (!firing) break;
    firings.push_back(*firing);
    at = firing->scheduled;
  }
  return firings;
}

namespace {

constexpr Duration kMinute = 60s;
/// The time that job-load takes of one turn.
constexpr Duration kLoadSlice = 300us;
constexpr std::int64_t kPreviewInstants = 50;

/// The time that an argument names, or 'absent'.
Result<WallTime> time_argument(const Arguments& arguments, std::string_view name, WallTime absent) {
  const std::string text = arguments.text(name);
  if (text.empty()) return absent;
  const Result<WallTime> given = calendar::parse_rfc3339(text);
  return given ? given : failure(given.error().with_context(std::string{name}));
}

/// The next scheduled instants of a job, as if it were started.
void list_next(Jobs& jobs, const Arguments& arguments, Reply reply) {
  const std::int64_t max = arguments.integer("max", 10);
  if (max < 1 || max > static_cast<std::int64_t>(kPage)) return reply.fail({StatusCode::InvalidArgument, "max is 1 to 200"});
  const Result<WallTime> from = time_argument(arguments, "from", SystemClock{}.wall_now());
  if (!from) return reply.fail(from.error());
  reply.expect_rows();
  ForCaller(jobs)->find(arguments.text("name"), [from = *from, max, reply = std::move(reply)](const Result<StoredJob>& stored) mutable {
    if (!stored) return reply.fail(stored.error());
    Planner planner{PlannerOptions{}};
    const auto compiled = planner.compiled(stored->job, stored->id);
    if (!compiled) return reply.fail(compiled.error());
    for (const Firing& firing : next_firings(**compiled, from, static_cast<std::size_t>(max))) {
      reply.row(json::object{{"scheduled", calendar::format_rfc3339(firing.scheduled)}, {"due", calendar::format_rfc3339(firing.due)}});
    }
    // Such a job has no instants of its own.
    if (const auto& parents = stored->job.parents; !parents.empty())
      return reply.finish({{"after", json::array(parents.begin(), parents.end())}});
    reply.finish();
  });
}

calendar::Seconds seconds_of(WallTime at) { return at.nanoseconds() / 1'000'000'000 - (at.nanoseconds() % 1'000'000'000 < 0 ? 1 : 0); }

/// As in RFC 3339, with the offset of the zone.
std::string local_text(const Zone& zone, WallTime at) {
  const int minutes = zone.offset_at(seconds_of(at)) / 60;
  std::string text = calendar::format_rfc3339(at + minutes * kMinute);
  text.pop_back();  // The Z.
  std::array<char, 32> offset{};
  std::snprintf(offset.data(), offset.size(), "%c%02d:%02d", minutes < 0 ? '-' : '+', std::abs(minutes) / 60, std::abs(minutes) % 60);
  return text + offset.data();
}

/// True if the clock is put forward or back on the local day of 'at'.
bool has_clock_change(const Zone& zone, WallTime at) {
  const calendar::Seconds local = seconds_of(at) + zone.offset_at(seconds_of(at));
  const calendar::Seconds day = local - (local % calendar::kDaySeconds + calendar::kDaySeconds) % calendar::kDaySeconds;
  const std::size_t first = zone.span_at(zone.first_at(day) - 1);  // A clock may change at midnight.
  const std::size_t last = zone.span_at(zone.first_at(day + calendar::kDaySeconds) - 1);
  for (std::size_t i = first; i < last; ++i) {
    if (zone.spans()[i].offset != zone.spans()[i + 1].offset) return true;
  }
  return false;
}

/// When a job is due, in words.
std::string words_of(const Job& job, const calendar::Schedule& schedule) {
  const ScheduleText& text = job.schedule;
  const auto* const cron = std::get_if<calendar::Cron>(&schedule.when);
  const auto* const once = std::get_if<calendar::OneShot>(&schedule.when);
  const auto* const delay = std::get_if<calendar::FixedDelay>(&schedule.when);
  std::string words = text.when;  // "every DURATION".
  if (cron != nullptr) words = cron->explain();
  if (once != nullptr) words = "once, at " + calendar::format_rfc3339(once->at);
  if (delay != nullptr) words = text.when.substr(text.when.find_first_not_of(' ', 5)) + " after the end of each run";
  if (std::holds_alternative<calendar::TriggerOnly>(schedule.when)) words = "only when it is triggered";
  if (!job.parents.empty()) {
    words = "when runs of all these jobs have succeeded:";
    for (const std::string& parent : job.parents) words += (parent == job.parents.front() ? " " : ", ") + parent;
  }
  if (text.from) words += ", from " + calendar::format_rfc3339(*text.from) + " on";
  if (text.until) words += ", before " + calendar::format_rfc3339(*text.until);
  if (!text.excluded.empty()) words += ", not on " + text.excluded;
  if (text.jitter > Duration{}) words += ", each up to " + std::to_string(text.jitter / 1ms) + " ms later";
  return words;
}

void preview(const Jobs& jobs, const StoredJob& stored, std::size_t count, Reply reply) {
  Planner planner{PlannerOptions{}};
  const auto found = planner.compiled(stored.job, stored.id);
  if (!found) return reply.fail(found.error());
  const CompiledSchedule& compiled = **found;
  json::array instants;
  for (const Firing& firing : next_firings(compiled, SystemClock{}.wall_now(), count)) {
    instants.push_back(json::object{{"at", calendar::format_rfc3339(firing.scheduled)},
                                    {"local", local_text(*compiled.zone, firing.scheduled)},
                                    {"clock_change", has_clock_change(*compiled.zone, firing.scheduled)}});
  }
  json::array troubles;
  for (const std::string& trouble : troubles_of(jobs, stored)) troubles.push_back(sentence(trouble));
  if (instants.empty() && !std::holds_alternative<calendar::TriggerOnly>(compiled.schedule.when))
    troubles.push_back("its schedule has no instant after now");
  reply.finish({{"words", sentence(words_of(stored.job, compiled.schedule))},
                {"zone", text(compiled.zone->name())},
                {"instants", std::move(instants)},
                {"troubles", std::move(troubles)}});
}

void job_preview(Jobs& jobs, const Arguments& arguments, Reply reply) {
  const std::int64_t count = arguments.integer("count", 10);
  if (count < 1 || count > kPreviewInstants) return reply.fail({StatusCode::InvalidArgument, "count is 1 to 50"});
  auto job = checked_definition(arguments);
  if (!job) return reply.fail(job.error());
  std::vector<JobEdit> edits;
  edits.push_back({std::move(*job), JobEdit::Running::Started});
  if (Status wrong = check_sizes(edits); !wrong.ok()) return reply.fail(wrong);
  // The answer does not depend on them, and the journal gets the definition.
  Job& previewed = edits.front().job;
  previewed.parameters = previewed.note = previewed.owner = {};
  previewed.tags.clear();
  // Without put_checked(): a form asks after each change, and who only reads must not make handlers work.
  ForCaller(jobs)->put_all(std::move(edits), true,
                           [&jobs, count, reply = std::move(reply)](const Result<std::vector<StoredJob>>& put) mutable {
                             put ? preview(jobs, put->front(), static_cast<std::size_t>(count), std::move(reply)) : reply.fail(put.error());
                           });
}

/// Counts the starts of the started jobs by minute, a slice a turn.
class LoadCounter : public std::enable_shared_from_this<LoadCounter> {
 public:
  LoadCounter(PageLine& line, std::string handlers, WallTime from, WallTime to)
      : line_(line), handlers_(std::move(handlers)), from_(from), to_(to), minutes_(minute_of(to + -1ns) + 1) {}

  void ask(const std::string& after, Reply reply) {
    line_.ask(after, reply, [self = shared_from_this(), reply](Result<std::vector<StoredJob>> page) mutable {
      if (!page) return reply.fail(page.error());
      self->page_ = std::move(*page);
      self->at_ = 0;
      self->count(std::move(reply));
    });
  }

 private:
  std::size_t minute_of(WallTime at) const { return static_cast<std::size_t>((at - from_) / kMinute); }

  void count(Reply reply) {
    const SystemClock clock;
    const Instant end = clock.now() + kLoadSlice;
    while (at_ < page_.size() && !cut_short_) {
      if (clock.now() >= end) return reply.next_turn([self = shared_from_this()](Reply next) { self->count(std::move(next)); });
      step(page_[at_]);
    }
    if (!reply.wanted()) return;
    if (Jobs::is_last_page(page_, kPage) || cut_short_)
      return reply.finish({{"from", calendar::format_rfc3339(from_)},
                           {"minutes", json::array(minutes_.begin(), minutes_.end())},
                           {"jobs_counted", jobs_counted_},
                           {"cut_short", cut_short_}});
    reply.next_turn([self = shared_from_this()](Reply next) { self->ask(self->page_.back().job.name, std::move(next)); });
  }

  /// Counts one instant of a job, or leaves the job. At most 0.2 ms, but for the first job of a zone.
  void step(const StoredJob& stored) {
    if (!stored.is_running || !is_readable(stored) || !stored.job.handler.starts_with(handlers_)) return leave(false);
    const auto compiled = planner_.compiled(stored.job, stored.id);
    if (!compiled || std::holds_alternative<calendar::TriggerOnly>((*compiled)->schedule.when)) return leave(false);
    const calendar::Schedule& schedule = (*compiled)->schedule;
    const auto firing = calendar::next_firing(schedule, *(*compiled)->zone, place_.value_or(from_ + -schedule.jitter.most + -1ns));
    if (!firing || firing->scheduled >= to_) return leave(true);
    place_ = firing->scheduled;
    if (firing->due >= from_ && firing->due < to_) ++minutes_[minute_of(firing->due)];
    cut_short_ = ++instants_ >= limits::kLoadInstants;
  }

  void leave(bool is_counted) {
    if (is_counted) ++jobs_counted_;
    place_.reset();
    ++at_;
  }

  PageLine& line_;
  const std::string handlers_;
  const WallTime from_;
  const WallTime to_;
  std::vector<std::uint64_t> minutes_;
  std::uint64_t jobs_counted_ = 0;
  std::uint64_t instants_ = 0;
  bool cut_short_ = false;
  Planner planner_{PlannerOptions{}};  // Compiles schedules.
  std::vector<StoredJob> page_;
  std::size_t at_ = 0;
  std::optional<WallTime> place_;  // The last instant of the job at at_ that was counted.
};

void job_load(PageLine& line, const Arguments& arguments, Reply reply) {
  Result<WallTime> from = time_argument(arguments, "from", SystemClock{}.wall_now());
  if (!from) return reply.fail(from.error());
  const Result<WallTime> to = time_argument(arguments, "to", *from + 1h);
  if (!to) return reply.fail(to.error());
  // Of times that are centuries apart the signed difference would overflow.
  const auto span = static_cast<std::uint64_t>(to->nanoseconds()) - static_cast<std::uint64_t>(from->nanoseconds());
  if (*to <= *from || span > static_cast<std::uint64_t>(limits::kLoadSpan / 1ns))
    return reply.fail({StatusCode::InvalidArgument, "the time to is after the time from, by at most 48 hours"});
  const std::int64_t past = seconds_of(*from) % 60;
  from = WallTime::from_nanoseconds((seconds_of(*from) - (past < 0 ? past + 60 : past)) * 1'000'000'000);
  const std::string& group = reply.caller().group;
  std::make_shared<LoadCounter>(line, group.empty() ? std::string{} : handlers_of(group), *from, *to)->ask({}, std::move(reply));
}

}  // namespace

void add_schedule_commands(Adder& adder) {
  adder.add({.name = "job-next",
             .help = "List the next scheduled instants of a job",
             .arguments = {name_argument(),
                           {"from", ArgumentKind::Text, false, "After this instant, as in RFC 3339; by default now"},
                           {"max", ArgumentKind::Integer, false, "The most instants: 1 to 200, by default 10"}},
             .effect = CommandEffect::Reads,
             .keeps_to_group = true},
            list_next);
  adder.add({.name = "job-preview",
             .help = "Say when a job would run that is not stored, and what is wrong with it",
             .arguments = {{"definition", ArgumentKind::Text, true, "The job as a JSON object"},
                           {"count", ArgumentKind::Integer, false, "The most instants: 1 to 50, by default 10"}},
             .effect = CommandEffect::Reads},
            job_preview);
  adder.add({.name = "job-load",
             .help = "Count the starts of the started jobs by minute",
             .arguments = {{"from", ArgumentKind::Text, false, "The first minute has this time, as in RFC 3339; by default now"},
                           {"to", ArgumentKind::Text, false, "Starts before this time: at most 48 hours later, by default one"}},
             .effect = CommandEffect::Reads,
             .keeps_to_group = true},
            [line = adder.line()](Jobs&, const Arguments& arguments, Reply reply) { job_load(*line, arguments, std::move(reply)); });
}

}  // namespace rondo::jobs
