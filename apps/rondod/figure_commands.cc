// The commands that show figures: sources, stats, top.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "rondo/base/limits.h"
#include "rondo/sched/scheduler.h"
#include "rondod/answers.h"
#include "rondod/command_adder.h"

namespace rondo::daemon {

namespace {

namespace json = boost::json;

std::string_view state_of(const Source& source) {
  if (!source.quarantine().ok()) return "quarantined";
  return source.is_running() ? "running" : source.is_ready() ? "ready" : "idle";
}

/// The bound is the longest that it can wait, as long as turns are no longer than those seen.
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

/// What `top` shows.
json::object source_json(const Source& source, Instant now) {
  json::object row = source_and_waits(source, now);
  row["busy_us"] = busy_us(source, now);
  return row;
}

json::object source_row(const Source& source, Instant now) {
  const SourceStats& stats = source.stats();
  json::object row = source_and_waits(source, now);
  row["longest_wait_us"] = microseconds(stats.longest_wait);  // Beside its bound: the two are to be compared.
  row["busy_us"] = busy_us(source, now);
  row["turned_away"] = source.turned_away();
  row["longest_cpu_us"] = microseconds(stats.longest_turn_cpu);
  const Log2Histogram waits = source.waits();
  row["wait_p50_us"] = microseconds(waits.quantile(0.5));
  row["wait_p99_us"] = microseconds(waits.quantile(0.99));
  row["wait_max_us"] = microseconds(waits.max());
  row["quarantine"] = text(source.quarantine().ok() ? std::string_view{} : source.quarantine().message());
  return row;
}

using SourceRow = json::object (*)(const Source& source, Instant now);

/// Rows of the sources with a number above 'after', and then 'end'; sources may come and go between the pages.
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

void command_sources(const CommandContext& context, Reply reply) {
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
                                {"in_flight", stats.in_flight},
                                {"resolve_wait_max_us", microseconds(stats.longest_resolve_wait)},
                                {"last_reject", text(stats.last_reject)}});
  }
  return rows;
}

json::object agent_json(const agent::Agent& agent) {
  const agent::Routes::Counts routes = agent.routes().counts();
  const agent::NexthopGroups::Counts groups = agent.nexthop_groups().counts();
  return json::object{{"routes", routes.routes},
                      {"programmed", routes.programmed},
                      {"refused", routes.refused},
                      {"unchanged", routes.unchanged},
                      {"put_back", routes.put_back},
                      {"first_order_ns", routes.first_order.nanoseconds()},
                      {"last_answer_ns", routes.last_answer.nanoseconds()},
                      {"nexthops", groups.nexthops},
                      {"restarted", agent.has_restarted()},
                      {"restart_found", agent.reconciled().found},
                      {"restart_kept", agent.reconciled().kept},
                      {"restart_changed", agent.reconciled().changed},
                      {"groups", groups.groups},
                      {"usable_groups", groups.usable_groups},
                      {"group_replaces", groups.group_replaces}};
}

json::object dataplane_json(const CommandContext& context) {
  const Programmer& programmer = context.agent.programmer();
  const ProgrammerStats& stats = programmer.stats();
  return json::object{{"kind", text(context.plane.describe())},
                      {"submitted", stats.submitted},
                      {"applied", stats.applied},
                      {"failed", stats.failed},
                      {"batches", stats.batches},
                      {"full_batches", stats.full_batches},
                      {"full", stats.full},
                      {"in_flight", programmer.in_flight()},
                      {"busy_us", microseconds(stats.busy)},
                      {"latency_p50_us", microseconds(stats.latency_ns.quantile(0.5))},
                      {"latency_p99_us", microseconds(stats.latency_ns.quantile(0.99))}};
}

json::object scheduler_json(const CommandContext& context) {
  const Scheduler& scheduler = context.runtime.scheduler();
  const SchedulerStats& stats = scheduler.stats();
  return json::object{{"policy", text(scheduler.policy().describe())},
                      {"turns", stats.turns},
                      {"polls", stats.polls},
                      {"sweep_rescues", stats.sweep_rescues},
                      {"quarantined", stats.quarantined},
                      {"longest_turn_us", microseconds(stats.longest_turn)},
                      {"long_turns", stats.long_turns},
                      {"stalls", context.watchdog == nullptr ? 0 : context.watchdog->stalls()},
                      {"full_turns", stats.full_turns},
                      {"timed_out_turns", stats.timed_out_turns},
                      {"due_polls", stats.due_polls},
                      {"spins", stats.spins},
                      {"spins_in_vain", stats.spins_in_vain},
                      {"timer_bursts", stats.timer_bursts}};
}

json::object port_events_json(const agent::Ports& ports) {
  const Histogram& wait = ports.event_wait_ns();
  return json::object{{"count", wait.count()},
                      {"p50_us", microseconds(wait.quantile(0.5))},
                      {"p99_us", microseconds(wait.quantile(0.99))},
                      {"max_us", microseconds(wait.max())}};
}

json::object journal_json(const JournalStats& stats) {
  return json::object{{"records", stats.records},
                      {"bytes", stats.bytes},
                      {"dropped", stats.dropped},
                      {"write_errors", stats.write_errors},
                      {"last_error", text(stats.last_error.ok() ? std::string_view{} : stats.last_error.message())}};
}

json::array files_json(const CommandContext& context) {
  json::array rows;
  const Instant now = context.runtime.clock().now();
  for (const std::unique_ptr<TableFile>& one : context.files) {
    const TableFileFigures file = one->figures();
    const bool fails = !file.trouble.ok();
    json::array damage;
    for (const std::string& lost : file.damage) {
      if (damage.size() == limits::kDamageShown) break;
      damage.push_back(text(lost));
    }
    rows.push_back(json::object{{"file", text(one->path())},
                                {"records", file.records},
                                {"bytes", file.bytes},
                                {"commits", file.commits},
                                {"failed_commits", file.failed_commits},
                                {"failed_upkeep", file.failed_upkeep},
                                {"refused", file.refused},
                                {"longest_commit_us", microseconds(file.longest_commit)},
                                {"snapshots", file.snapshots},
                                {"restored", file.restored},
                                {"waiting", file.waiting},
                                {"waiting_bytes", file.waiting_bytes},
                                {"failing_s", fails ? microseconds(now - file.failing_since) / 1e6 : 0.0},
                                {"trouble", text(fails ? file.trouble.message() : std::string_view{})},
                                {"damage_parts", file.damage.size()},
                                {"damage", std::move(damage)},
                                {"damaged_file", text(file.damaged_file)}});
  }
  return rows;
}

json::object store_json(const CommandContext& context) {
  const Status health = context.runtime.store().health();
  const WriteFailures& failures = context.failures;
  return json::object{{"health", text(health.ok() ? "ok" : health.message())},
                      {"files", files_json(context)},
                      {"failed_writes", failures.count()},
                      {"last_failure", text(failures.last().ok() ? std::string_view{} : failures.last().message())}};
}

json::array direct_json(const CommandContext& context) {
  json::array rows;
  for (const auto& feed : context.feeds) {
    const DirectFigures figures = feed->figures();
    json::object faults;
    for (const auto& [cause, count] : figures.faults) faults.emplace(cause, count);
    json::array tables;
    for (const std::string& table : figures.tables) tables.push_back(text(table));
    rows.push_back(json::object{{"endpoint", text(figures.endpoint)},
                                {"tables", std::move(tables)},
                                {"connections", figures.connections},
                                {"frames", figures.frames},
                                {"entries", figures.entries},
                                {"pauses", figures.pauses},
                                {"faults", std::move(faults)},
                                {"staged", figures.staged},
                                {"recovered", figures.recovered},
                                {"rows_recovered", figures.rows_recovered},
                                {"written", figures.written},
                                {"behind", figures.behind},
                                {"left_out", figures.left_out}});
  }
  return rows;
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
                      {"stalled_writers_cut", stats.stalled_writers_cut}};
}

json::object watch_json(const Watchers& watchers) { return json::object{{"watchers", watchers.size()}, {"missed", watchers.missed()}}; }

json::object log_json(const LogKeeper& log) {
  const LogKeeper::Counts counts = log.counts();
  return json::object{{"lines_forgotten", counts.forgotten}, {"lines_cut", counts.cut}};
}

void command_stats(const CommandContext& context, Reply reply) {
  Runtime& runtime = context.runtime;
  reply.finish(json::object{{"uptime_s", microseconds(runtime.clock().now() - context.started) / 1e6},
                            {"memory", json::object{{"rss_bytes", memory_bytes("VmRSS:")}, {"peak_rss_bytes", memory_bytes("VmHWM:")}}},
                            {"scheduler", scheduler_json(context)},
                            {"store", store_json(context)},
                            {"direct", direct_json(context)},
                            {"consumers", consumers_json(runtime)},
                            {"dataplane", dataplane_json(context)},
                            {"agent", agent_json(context.agent)},
                            {"port_events", port_events_json(context.agent.ports())},
                            {"journal", journal_json(runtime.journal().stats())},
                            {"admin", admin_json(context.server.get())},
                            {"watch", watch_json(context.watchers)},
                            {"log", log_json(context.log)}});
}

/// The facts with the most rows among those of the first kTopFactsSeen places: the facts that came first.
json::array top_facts(const Runtime& runtime) {
  std::vector<ParkedConstraint> found;
  std::uint32_t place = 0;
  while (place < limits::kTopFactsSeen && found.size() < limits::kTopFactsSeen) {
    for (ParkedConstraint& one : runtime.parked_constraints(limits::kTopFactsSeen, place)) found.push_back(std::move(one));
  }
  const std::size_t shown = std::min(limits::kTopFacts, found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(shown), found.end(),
                    [](const ParkedConstraint& a, const ParkedConstraint& b) { return a.rows > b.rows; });
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

/// One small file, in pages: cheaper than the status of a process, which has its memory added up.
std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t pages = 0;
  std::uint64_t resident = 0;
  statm >> pages >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// One frame of `rondo top`: all that it shows in one request, small enough to be asked for every second.
void command_top(const CommandContext& context, Reply reply) {
  answer_sources(context.runtime.scheduler(), std::move(reply), source_json, [&context](Reply r) {
    Runtime& runtime = context.runtime;
    const SchedulerStats& stats = runtime.scheduler().stats();
    const ProgrammerStats& programmed = context.agent.programmer().stats();
    const Instant now = runtime.clock().now();
    const Status health = runtime.store().health();
    r.finish(json::object{{"at_us", microseconds(now - context.started)},
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
                          {"store", text(health.ok() ? "ok" : health.message())},
                          {"dataplane", json::object{{"kind", text(context.plane.describe())},
                                                     {"submitted", programmed.submitted},
                                                     {"applied", programmed.applied},
                                                     {"failed", programmed.failed},
                                                     {"in_flight", context.agent.programmer().in_flight()},
                                                     {"busy_us", microseconds(programmed.busy)}}}});
  });
}

}  // namespace

void add_figure_commands(CommandAdder& commands) {
  commands.add({"sources", "List everything that is given turns", {}}, command_sources);
  commands.add({"stats", "Show all figures", {}}, command_stats);
  commands.add({"top", "One frame of `rondo top`", {}}, command_top);
}

}  // namespace rondo::daemon
