// The commands that show figures: sources, stats, top.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "admin/server.h"
#include "commands/answers.h"
#include "commands/context.h"
#include "commands/limits.h"
#include "commands/recent_log.h"
#include "orch/parked.h"
#include "rondo/commands/limits.h"
#include "rondo/journal/journal.h"
#include "rondo/sched/scheduler.h"

namespace rondo::commands {

namespace {

namespace json = boost::json;

std::string_view state_of(const Source& source) {
  if (!source.quarantine().ok()) return "quarantined";
  return source.is_running() ? "running" : source.is_ready() ? "ready" : "idle";
}

/// The bound is the longest possible wait of the source, as long as turns are no longer than those measured.
json::object source_and_waits(const Source& source, Instant now) {
  const SourceStats& stats = source.stats();
  const Duration bound = source.scheduler()->bound(source);
  return json::object{{"name", text(source.name())},
                      {"priority", source.priority().level()},
                      {"state", state_of(source)},
                      {"turns", stats.turns},
                      {"items", stats.items},
                      {"depth", source.depth()},
                      {"ran_us", microseconds(stats.ran)},
                      {"longest_us", microseconds(stats.longest_turn)},
                      {"waiting_us", source.is_ready() ? microseconds(now - source.ready_since()) : 0.0},
                      {"wait_bound_us", bound == Duration::max() ? json::value(nullptr) : json::value(microseconds(bound))}};
}

double busy_us(const Source& source, Instant now) {
  return source.is_ready() || source.is_running() ? microseconds(now - source.busy_since()) : 0.0;
}

/// A row of `top`.
json::object source_json(const Source& source, Instant now) {
  json::object row = source_and_waits(source, now);
  row["busy_us"] = busy_us(source, now);
  return row;
}

json::object source_row(const Source& source, Instant now) {
  const SourceStats& stats = source.stats();
  json::object row = source_and_waits(source, now);
  row["longest_wait_us"] = microseconds(stats.longest_wait);  // Beside its bound, so that an operator can compare the two.
  row["busy_us"] = busy_us(source, now);
  row["turned_away"] = source.turned_away();
  row["longest_cpu_us"] = microseconds(stats.longest_turn_cpu);
  const Log2Histogram waits = source.waits();
  row["wait_p50_us"] = microseconds(waits.quantile(0.5));
  row["wait_p99_us"] = microseconds(waits.quantile(0.99));
  row["wait_max_us"] = microseconds(waits.max());
  row["wait_histogram"] = histogram_json(waits);
  row["quarantine"] = sentence(source.quarantine().ok() ? std::string_view{} : source.quarantine().message());
  return row;
}

using SourceRow = json::object (*)(const Source& source, Instant now);

/// Answers with rows of the sources with a number above 'after', then calls 'end'. Sources may be added and removed between the pages.
void answer_sources(Scheduler& scheduler, Reply reply, SourceRow row, std::function<void(Reply)> end, std::uint64_t after = 0) {
  reply.expect_rows();
  bool full = false;
  const Instant now = scheduler.clock().now();
  scheduler.for_each_source([&](const Source& source) {
    if (full || source.number() <= after) return;
    full = reply.page_full();
    if (full) return;
    reply.row(row(source, now));
    after = source.number();
  });
  if (!full) return end(std::move(reply));
  reply.next_turn([&scheduler, row, end = std::move(end), after](Reply r) mutable {
    if (r.wanted()) answer_sources(scheduler, std::move(r), row, std::move(end), after);
  });
}

void command_sources(Context& context, Reply reply) {
  answer_sources(context.runtime.scheduler(), std::move(reply), source_row, [](Reply r) { r.finish(); });
}

std::uint64_t memory_bytes(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return std::stoull(line.substr(name.size() + 1)) * 1024;
  }
  return 0;
}

json::array consumers_json(const Runtime& runtime) {
  json::array rows;
  for (const ConsumerStats& stats : runtime.consumers()) {
    rows.push_back(json::object{{"table", text(stats.table)},
                                {"orch", text(stats.orch)},
                                {"taken", stats.taken},
                                {"taken_sets", stats.taken - stats.taken_deletes},
                                {"taken_deletes", stats.taken_deletes},
                                {"handled", stats.handled},
                                {"done", stats.done},
                                {"rejected", stats.rejected},
                                {"parked_ever", stats.parked_ever},
                                {"retried", stats.retried},
                                {"thrown", stats.thrown},
                                {"spurious_waits", stats.spurious_waits},
                                {"full_turns", stats.full_turns},
                                {"rejections_forgotten", stats.rejections_forgotten},
                                {"rejected_rows", stats.rejected_rows},
                                {"queued", stats.queued},
                                {"parked", stats.parked},
                                {"parked_peak", stats.parked_peak},
                                {"redone", stats.redone},
                                {"bound", stats.bound},
                                {"in_flight", stats.in_flight},
                                {"resolve_wait_max_us", microseconds(stats.longest_resolve_wait)},
                                {"latency_p50_us", microseconds(stats.latency_ns.quantile(0.5))},
                                {"latency_p99_us", microseconds(stats.latency_ns.quantile(0.99))},
                                {"latency_p999_us", microseconds(stats.latency_ns.quantile(0.999))},
                                {"latency_max_us", microseconds(stats.latency_ns.max())},
                                {"latency_histogram", histogram_json(stats.latency_ns)},
                                {"unanswered_us", microseconds(stats.unanswered_for)},
                                {"last_reject", sentence(stats.last_reject)}});
  }
  return rows;
}

json::object scheduler_json(Context& context) {
  const Scheduler& scheduler = context.runtime.scheduler();
  const SchedulerStats& stats = scheduler.stats();
  return json::object{{"policy", text(scheduler.policy().describe())},
                      {"turns", stats.turns},
                      {"turn_histogram", histogram_json(stats.turn_ns)},
                      {"polls", stats.polls},
                      {"sweep_rescues", stats.sweep_rescues},
                      {"quarantined", stats.quarantined},
                      {"longest_turn_us", microseconds(stats.longest_turn)},
                      {"long_turns", stats.long_turns},
                      {"stalls", context.options.stalls ? context.options.stalls() : 0},
                      {"full_turns", stats.full_turns},
                      {"timed_out_turns", stats.timed_out_turns},
                      {"due_polls", stats.due_polls},
                      {"timer_bursts", stats.timer_bursts}};
}

/// Facts that rows wait for, and facts whose Orch did not announce or withdraw them.
json::object fact_figures_json(const Runtime& runtime) {
  const ForgottenFacts& forgotten = runtime.forgotten_facts();
  return json::object{{"awaited", runtime.awaited_facts()},
                      {"forgotten_announcements", forgotten.announcements},
                      {"forgotten_withdrawals", forgotten.withdrawals},
                      {"newest_forgotten", sentence(forgotten.newest)}};
}

json::object journal_json(const JournalStats& stats) {
  return json::object{{"records", stats.records},
                      {"bytes", stats.bytes},
                      {"dropped", stats.dropped},
                      {"write_errors", stats.write_errors},
                      {"last_error", sentence(stats.last_error.ok() ? std::string_view{} : stats.last_error.message())}};
}

json::object store_json(Context& context) {
  const Status health = context.runtime.store().health();
  const WriteFailures& failures = context.failures;
  return json::object{{"health", sentence(health.ok() ? "ok" : health.message())},
                      {"failed_writes", failures.count()},
                      {"last_failure", sentence(failures.last().ok() ? std::string_view{} : failures.last().message())}};
}

json::object admin_json(const AdminServer* server) {
  if (server == nullptr) return {};
  const AdminServerStats& stats = server->stats();
  return json::object{{"connections", stats.connections},
                      {"accepted", stats.accepted},
                      {"refused_connections", stats.refused_connections},
                      {"requests", stats.requests},
                      {"failed_requests", stats.failed_requests},
                      {"full_pages", stats.full_pages},
                      {"bulk_rows", stats.bulk_rows},
                      {"bulk_rows_refused", stats.bulk_rows_refused},
                      {"bulk_rows_unwritten", stats.bulk_rows_unwritten},
                      {"bulk_pauses", stats.bulk_pauses},
                      {"bulk_waits", stats.bulk_waits},
                      {"malformed_frames", stats.malformed_frames},
                      {"slow_readers_cut", stats.slow_readers_cut},
                      {"stalled_writers_cut", stats.stalled_writers_cut},
                      {"slow_frames_cut", stats.slow_frames_cut},
                      {"idle_cut", stats.idle_cut},
                      {"denied_connections", stats.denied_connections},
                      {"gave_way", stats.displaced},
                      {"memory_cut", stats.memory_cut},
                      {"memory_bytes", stats.memory_bytes},
                      {"sockets_made_anew", stats.sockets_made_anew}};
}

json::object watch_json(const Watchers& watchers) { return json::object{{"watchers", watchers.size()}, {"missed", watchers.missed()}}; }

json::object log_json(const RecentLog* log) {
  const RecentLog::Counts counts = log == nullptr ? RecentLog::Counts{} : log->counts();
  return json::object{{"lines_forgotten", counts.forgotten}, {"lines_cut", counts.cut}};
}

/// Answers with 'figures' and what the program adds to them.
void finish_with(const std::function<void(json::object&)>& add, json::object figures, Reply reply) {
  if (!add) return reply.finish(figures);
  add(figures);
  json::value all = std::move(figures);
  make_visible(all);
  reply.finish(all.as_object());
}

void command_stats(Context& context, Reply reply) {
  Runtime& runtime = context.runtime;
  json::object stats{{"uptime_s", microseconds(runtime.clock().now() - context.started) / 1e6},
                     {"memory", json::object{{"rss_bytes", memory_bytes("VmRSS:")}, {"peak_rss_bytes", memory_bytes("VmHWM:")}}},
                     {"scheduler", scheduler_json(context)},
                     {"store", store_json(context)},
                     {"consumers", consumers_json(runtime)},
                     {"facts", fact_figures_json(runtime)},
                     {"journal", journal_json(Journal::stats_of(runtime))},
                     {"admin", admin_json(context.server.get())},
                     {"watch", watch_json(context.watchers)},
                     {"log", log_json(context.options.log)}};
  finish_with(context.options.add_stats, std::move(stats), std::move(reply));
}

/// The facts with the most rows among the first kTopFactsSeen places, which are the facts that came first.
json::array top_facts(const Runtime& runtime) {
  std::vector<ParkedFact> found;
  std::uint32_t place = 0;
  while (place < limits::kTopFactsSeen && found.size() < limits::kTopFactsSeen) {
    for (ParkedFact& one : parked_facts(runtime, limits::kTopFactsSeen, place)) found.push_back(std::move(one));
  }
  const std::size_t shown = std::min(limits::kTopFacts, found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(shown), found.end(),
                    [](const ParkedFact& a, const ParkedFact& b) { return a.rows > b.rows; });
  json::array rows;
  for (std::size_t i = 0; i < shown; ++i) {
    json::object row = fact_json(found[i].fact);
    row["table"] = text(found[i].table);
    row["rows"] = found[i].rows;
    row["has_provider"] = found[i].has_provider;
    row["oldest_ms"] = microseconds(found[i].oldest) / 1000.0;
    rows.push_back(std::move(row));
  }
  return rows;
}

json::array top_tables(const Runtime& runtime) {
  json::array rows;
  for (const ConsumerStats& stats : runtime.consumers()) {
    rows.push_back(json::object{{"table", text(stats.table)},
                                {"taken", stats.taken},
                                {"done", stats.done},
                                {"rejected", stats.rejected},
                                {"queued", stats.queued},
                                {"parked", stats.parked},
                                {"in_flight", stats.in_flight}});
  }
  return rows;
}

/// Resident memory in bytes. Reads one small file, in pages: cheaper than /proc/self/status, for which the kernel sums up the memory.
std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t pages = 0;
  std::uint64_t resident = 0;
  statm >> pages >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// One frame of `rondo top`: all its data in one request, small enough for one request a second.
void command_top(Context& of, Reply reply) {
  answer_sources(of.runtime.scheduler(), std::move(reply), source_json, [weak = of.weak_from_this()](Reply r) {
    const std::shared_ptr<Context> alive = weak.lock();  // The answer may take several turns.
    if (alive == nullptr) return r.fail({StatusCode::Unavailable, "the program is ending"});
    Context& context = *alive;
    Runtime& runtime = context.runtime;
    const SchedulerStats& stats = runtime.scheduler().stats();
    const Instant now = runtime.clock().now();
    const Status health = runtime.store().health();
    json::object top{{"at_us", microseconds(now - context.started)},
                     {"turns", stats.turns},
                     {"longest_turn_us", microseconds(stats.longest_turn)},
                     {"long_turns", stats.long_turns},
                     {"sweep_rescues", stats.sweep_rescues},
                     {"quarantined", stats.quarantined},
                     {"rss_bytes", resident_bytes()},
                     {"awaited_facts", runtime.awaited_facts()},
                     {"watchers", context.watchers.size()},
                     {"facts", top_facts(runtime)},
                     {"tables", top_tables(runtime)},
                     {"store", sentence(health.ok() ? "ok" : health.message())}};
    finish_with(context.options.add_top, std::move(top), std::move(r));
  });
}

}  // namespace

void add_figure_commands(StandardAdder& commands) {
  commands.add({"sources", "List everything that is given turns", {}, CommandEffect::Reads}, command_sources);
  commands.add({"stats", "Show all figures", {}, CommandEffect::Reads}, command_stats);
  commands.add({"top", "One frame of `rondo top`", {}, CommandEffect::Reads}, command_top);
}

}  // namespace rondo::commands
