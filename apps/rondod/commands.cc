#include "rondod/commands.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <string>
#include <utility>

#include <boost/json.hpp>

#include "rondo/admin/text.h"
#include "rondo/base/limits.h"
#include "rondo/sched/scheduler.h"
#include "rondod/store_sink.h"

namespace rondo::daemon {

namespace {

namespace json = boost::json;

json::string text(std::string_view bytes) { return json::string{escape_text(bytes)}; }
double microseconds(Duration d) { return static_cast<double>(d.count()) / 1000.0; }
double microseconds(std::uint64_t ns) { return static_cast<double>(ns) / 1000.0; }

json::array facts_json(const std::vector<Constraint>& facts) {
  json::array array;
  for (const Constraint& fact : facts) array.push_back(json::object{{"kind", text(fact.kind.name())}, {"key", text(fact.key)}});
  return array;
}

json::array fields_json(const Fields& fields) {
  json::array array;
  for (const Field field : fields) array.push_back(json::array{text(field.name), text(field.value)});
  return array;
}

std::string_view state_name(WhyLink::State state) {
  switch (state) {
    case WhyLink::State::Absent: return "absent";
    case WhyLink::State::Queued: return "queued";
    case WhyLink::State::InFlight: return "in-flight";
    case WhyLink::State::Parked: return "parked";
    case WhyLink::State::Rejected: return "rejected";
  }
  return "absent";
}

/// Answers with 'rows' in pages, so that a long list takes many short turns.
void answer_rows(Reply reply, json::array rows) {
  reply.expect_rows();
  auto all = std::make_shared<json::array>(std::move(rows));
  auto next = std::make_shared<std::size_t>(0);
  reply.stream([all, next](Reply& r) {
    while (*next < all->size() && !r.page_full()) r.row((*all)[(*next)++]);
    return *next < all->size();
  });
}

// --- tables

void command_set(const CommandContext& context, const Arguments& arguments, Reply reply, Op op) {
  const std::string table = arguments.text("table");
  Store& store = context.runtime.store();
  if (Status known = check_table(store, table); !known.ok()) return reply.fail(known);
  const std::string key = arguments.text("key");
  // Done means on the disk where that is what the table promises.
  const bool waits = context.failures.waits_for_disk(table);
  const WriteDone done = !waits ? context.failures.listener(table) : [reply](const Status& end) mutable {
    if (!end.ok()) return reply.fail(end);
    reply.finish();
  };
  Status written;
  if (op == Op::Delete) {
    written = store.write(table, Change::remove(key), done);
  } else {
    const auto pairs = arguments.fields();
    std::vector<Field> fields;
    for (const auto& [name, value] : pairs) fields.push_back({name, value});
    written = check_record(key, fields);
    if (written.ok()) written = store.write(table, Change::set(key, std::span<const Field>{fields}), done);
  }
  if (!written.ok()) return reply.fail(written);
  if (!waits) reply.finish();
}

void command_get(const CommandContext& context, const Arguments& arguments, Reply reply) {
  const std::string table = arguments.text("table");
  Store& store = context.runtime.store();
  if (Status known = check_table(store, table); !known.ok()) return reply.fail(known);
  const std::string key = arguments.text("key");
  store.get(table, key, [reply, table, key](const Result<Record>& record) mutable {
    if (!record) return reply.fail(record.error());
    if (!*record) return reply.fail(Status{Code::NotFound, "no row '" + escape_text(key) + "' in " + table});
    reply.finish(json::object{{"key", text(key)}, {"fields", fields_json(record->fields())}});
  });
}

/// One page of keys, then, in a later turn, the next.
void send_keys(Store& store, const std::string& table, const std::string& cursor, Reply reply) {
  store.scan(table, cursor, limits::kAdminPageRows / 2, [&store, table, reply](const Result<RowPage>& page) mutable {
    if (!page) return reply.fail(page.error());
    for (const Record& row : page->rows) reply.row(json::object{{"key", text(row.key())}});
    if (page->next.empty()) return reply.finish();
    reply.next_turn([&store, table, next = page->next](Reply r) {
      if (r.wanted()) send_keys(store, table, next, r);
    });
  });
}

void command_keys(const CommandContext& context, const Arguments& arguments, Reply reply) {
  const std::string table = arguments.text("table");
  Store& store = context.runtime.store();
  if (Status known = check_table(store, table); !known.ok()) return reply.fail(known);
  reply.expect_rows();
  send_keys(store, table, "", reply);
}

void command_tables(const CommandContext& context, Reply reply) {
  json::array rows;
  for (const TableSpec& spec : context.runtime.store().tables()) {
    const auto size = context.runtime.store().size(spec.name);
    rows.push_back(json::object{{"table", text(spec.name)},
                                {"kind", json::string{to_string(spec.kind)}},
                                {"rows", size && size->rows ? json::value(*size->rows) : json::value(nullptr)},
                                {"staged", size ? size->staged : 0}});
  }
  answer_rows(reply, std::move(rows));
}

// --- why things wait

/// What is known about the last link of a chain beyond the ledger: whether its table has the row, and how many rows nobody has taken yet.
std::string note_on_end(const WhyLink& link, bool has_row, std::size_t staged) {
  if (link.state != WhyLink::State::Absent) return link.note;
  std::string note = has_row ? "the row is there and done, but what it brings about is not" : "no such row was written";
  if (!has_row && staged > 0) note += " (or it is among the " + std::to_string(staged) + " rows of this table not taken yet)";
  return note;
}

json::object link_json(const WhyLink& link, std::string_view state, std::string_view note) {
  return json::object{{"table", text(link.table)},       {"key", text(link.key)},           {"state", json::string{state}},
                      {"facts", facts_json(link.facts)}, {"provider", text(link.provider)}, {"note", text(note)}};
}

void command_why(const CommandContext& context, const Arguments& arguments, Reply reply) {
  const std::string table = arguments.text("table");
  Store& store = context.runtime.store();
  if (Status known = check_table(store, table); !known.ok()) return reply.fail(known);
  auto why = std::make_shared<Why>(context.runtime.why(table, arguments.text("key")));
  const WhyLink& last = why->chain.back();
  store.get(last.table, last.key, [&store, why, reply](const Result<Record>& record) mutable {
    const WhyLink& end = why->chain.back();
    const bool has_row = record && *record;
    const auto size = store.size(end.table);
    json::array chain;
    for (const WhyLink& link : why->chain) {
      if (&link != &end) {
        chain.push_back(link_json(link, state_name(link.state), link.note));
      } else if (why->chain.size() == 1 && has_row && link.state == WhyLink::State::Absent) {
        chain.push_back(link_json(link, "done", "nobody owes this row anything"));
      } else {
        chain.push_back(link_json(link, state_name(link.state), note_on_end(link, has_row, size ? size->staged : 0)));
      }
    }
    reply.finish(json::object{{"chain", std::move(chain)}, {"cycle", why->cycle}});
  });
}

void command_parked(const CommandContext& context, const Arguments& arguments, Reply reply) {
  json::array rows;
  if (arguments.has("table")) {
    const std::string table = arguments.text("table");
    if (Status known = check_table(context.runtime.store(), table); !known.ok()) return reply.fail(known);
    for (const ParkedRow& row : context.runtime.parked_rows(table, limits::kAdminPageRows)) {
      rows.push_back(json::object{{"table", text(row.table)},
                                  {"key", text(row.key)},
                                  {"op", json::string{to_string(row.op)}},
                                  {"facts", facts_json(row.facts)},
                                  {"waited_ms", microseconds(row.waited) / 1000.0},
                                  {"retry_in_ms", microseconds(row.retry_in) / 1000.0}});
    }
  } else {
    for (const ParkedConstraint& parked : context.runtime.parked_constraints(limits::kAdminPageRows)) {
      rows.push_back(json::object{{"kind", text(parked.fact.kind.name())},
                                  {"key", text(parked.fact.key)},
                                  {"table", text(parked.table)},
                                  {"rows", parked.rows},
                                  {"has_provider", parked.has_provider}});
    }
  }
  answer_rows(reply, std::move(rows));
}

// --- figures

void command_sources(const CommandContext& context, Reply reply) {
  json::array rows;
  context.runtime.scheduler().for_each_source([&](const Source& source) {
    const SourceStats& stats = source.stats();
    const char* state = !source.quarantine().ok() ? "quarantined" : source.is_ready() ? "ready" : "idle";
    rows.push_back(json::object{{"name", text(source.name())},
                                {"priority", source.priority().level()},
                                {"state", state},
                                {"turns", stats.turns},
                                {"items", stats.items},
                                {"ran_us", microseconds(stats.ran)},
                                {"longest_us", microseconds(stats.longest_turn)},
                                {"longest_cpu_us", microseconds(stats.longest_turn_cpu)},
                                {"wait_p50_us", microseconds(stats.wait_ns.quantile(0.5))},
                                {"wait_p99_us", microseconds(stats.wait_ns.quantile(0.99))},
                                {"wait_max_us", microseconds(stats.wait_ns.max())},
                                {"quarantine", text(source.quarantine().ok() ? std::string_view{} : source.quarantine().message())}});
  });
  answer_rows(reply, std::move(rows));
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
                      {"in_flight", programmer.in_flight()},
                      {"busy_us", microseconds(stats.busy)},
                      {"latency_p50_us", microseconds(stats.latency_ns.quantile(0.5))},
                      {"latency_p99_us", microseconds(stats.latency_ns.quantile(0.99))}};
}

json::object scheduler_json(const Scheduler& scheduler) {
  const SchedulerStats& stats = scheduler.stats();
  return json::object{{"policy", text(scheduler.policy().describe())},
                      {"turns", stats.turns},
                      {"polls", stats.polls},
                      {"sweep_rescues", stats.sweep_rescues},
                      {"quarantined", stats.quarantined},
                      {"longest_turn_us", microseconds(stats.longest_turn)},
                      {"long_turns", stats.long_turns}};
}

json::object port_events_json(const agent::Ports& ports) {
  const Histogram& wait = ports.event_wait_ns();
  return json::object{{"count", wait.count()},
                      {"p50_us", microseconds(wait.quantile(0.5))},
                      {"p99_us", microseconds(wait.quantile(0.99))},
                      {"max_us", microseconds(wait.max())}};
}

json::object journal_json(const JournalStats& stats) {
  return json::object{{"records", stats.records}, {"bytes", stats.bytes}, {"dropped", stats.dropped}, {"write_errors", stats.write_errors}};
}

json::object store_json(const CommandContext& context) {
  const Status health = context.runtime.store().health();
  const WriteFailures& failures = context.failures;
  return json::object{{"health", text(health.ok() ? "ok" : health.message())},
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
                      {"requests", stats.requests},
                      {"failed_requests", stats.failed_requests},
                      {"bulk_rows", stats.bulk_rows},
                      {"bulk_rows_refused", stats.bulk_rows_refused},
                      {"malformed_frames", stats.malformed_frames},
                      {"slow_readers_cut", stats.slow_readers_cut}};
}

void command_stats(const CommandContext& context, Reply reply) {
  Runtime& runtime = context.runtime;
  reply.finish(json::object{{"uptime_s", microseconds(runtime.clock().now() - context.started) / 1e6},
                            {"memory", json::object{{"rss_bytes", memory_bytes("VmRSS:")}, {"peak_rss_bytes", memory_bytes("VmHWM:")}}},
                            {"scheduler", scheduler_json(runtime.scheduler())},
                            {"store", store_json(context)},
                            {"direct", direct_json(context)},
                            {"consumers", consumers_json(runtime)},
                            {"dataplane", dataplane_json(context)},
                            {"agent", agent_json(context.agent)},
                            {"port_events", port_events_json(context.agent.ports())},
                            {"journal", journal_json(runtime.journal().stats())},
                            {"admin", admin_json(context.server.get())}});
}

// --- ports

void command_ports(const CommandContext& context, Reply reply) {
  json::array rows;
  for (const agent::Ports::Port& port : context.agent.ports().ports()) {
    rows.push_back(json::object{{"name", text(port.name)},
                                {"index", port.id.value()},
                                {"exists", port.exists},
                                {"configured", port.configured},
                                {"admin_up", port.admin_up},
                                {"carrier", port.carrier},
                                {"mtu", port.mtu},
                                {"carrier_changes", port.carrier_changes}});
  }
  answer_rows(reply, std::move(rows));
}

void command_port_events(const CommandContext& context, const Arguments& arguments, Reply reply) {
  json::array rows;
  const auto since = static_cast<std::uint64_t>(std::max<std::int64_t>(0, arguments.integer("since", 0)));
  for (const agent::Ports::Handled& handled : context.agent.ports().handled_since(since)) {
    rows.push_back(json::object{
        {"sequence", handled.sequence}, {"port", text(handled.port)}, {"carrier", handled.carrier}, {"at_ns", handled.at.nanoseconds()}});
  }
  answer_rows(reply, std::move(rows));
}

void command_sim_carrier(const CommandContext& context, const Arguments& arguments, Reply reply) {
  const std::string port = arguments.text("port");
  const auto ports = context.agent.ports().ports();
  if (std::ranges::find(ports, port, &agent::Ports::Port::name) == ports.end()) {
    return reply.fail(Status{Code::NotFound, "no port '" + escape_text(port) + "'"});
  }
  context.simulated->set_carrier(port, arguments.flag("up"));
  reply.finish();
}

void command_sim_routes(const CommandContext& context, Reply reply) {
  json::array rows;
  const Status read = context.simulated->routes([&](const RouteEntry& route) {
    rows.push_back(json::object{{"prefix", text(route.prefix.to_string())}, {"nexthop", route.nexthop.value()}});
  });
  if (!read.ok()) return reply.fail(read);
  answer_rows(reply, std::move(rows));
}

void command_sim_nexthops(const CommandContext& context, Reply reply) {
  const auto nexthops = context.simulated->nexthops();
  if (!nexthops) return reply.fail(nexthops.error());
  json::array rows;
  for (const NexthopEntry& entry : *nexthops) {
    json::array members;
    for (const GroupMember& member : entry.members)
      members.push_back(json::object{{"id", member.nexthop.value()}, {"weight", member.weight}});
    rows.push_back(json::object{{"id", entry.id.value()},
                                {"gateway", text(entry.gateway.to_string())},
                                {"port", entry.port.value()},
                                {"members", std::move(members)}});
  }
  answer_rows(reply, std::move(rows));
}

using Plain = void (*)(const CommandContext&, Reply);
using WithArguments = void (*)(const CommandContext&, const Arguments&, Reply);

ArgumentSpec required(std::string name, std::string help) { return {std::move(name), ArgumentKind::Text, true, std::move(help)}; }

}  // namespace

Status register_commands(CommandRegistry& registry, const CommandContext& given) {
  const auto context = std::make_shared<const CommandContext>(given);
  Status status;
  const auto add = [&](CommandSpec spec, CommandHandler handler) {
    if (status.ok()) status = registry.add(std::move(spec), std::move(handler));
  };
  const auto plain = [&](Plain run) { return [context, run](const Arguments&, Reply reply) { run(*context, std::move(reply)); }; };
  const auto with = [&](WithArguments run) {
    return [context, run](const Arguments& arguments, Reply reply) { run(*context, arguments, std::move(reply)); };
  };
  const ArgumentSpec table = required("table", "Table, such as ROUTE_TABLE");
  const ArgumentSpec key = required("key", "Key of the row");
  add({"set", "Write a row; fields that are not named keep their value", {table, key, {"fields", ArgumentKind::Fields, false, "Fields"}}},
      [context](const Arguments& arguments, Reply reply) { command_set(*context, arguments, std::move(reply), Op::Set); });
  add({"del", "Delete a row", {table, key}},
      [context](const Arguments& arguments, Reply reply) { command_set(*context, arguments, std::move(reply), Op::Delete); });
  add({"get", "Show a row as its consumer has taken it", {table, key}}, with(command_get));
  add({"keys", "List the keys of a table", {table}}, with(command_keys));
  add({"tables", "List the tables with their sizes", {}}, plain(command_tables));
  add({"why", "Explain what a row waits for, down to the missing fact", {table, key}}, with(command_why));
  add({"parked", "List awaited facts, or the waiting rows of a table", {{"table", ArgumentKind::Text, false, "Only rows of this table"}}},
      with(command_parked));
  add({"sources", "List everything that is given turns", {}}, plain(command_sources));
  add({"stats", "Show all figures", {}}, plain(command_stats));
  add({"ports", "List the ports", {}}, plain(command_ports));
  add({"port-events", "List handled carrier changes", {{"since", ArgumentKind::Integer, false, "After this sequence number"}}},
      with(command_port_events));
  if (context->simulated != nullptr) {
    add({"sim-carrier",
         "Give a simulated port a signal or take it away",
         {required("port", "Port"), {"up", ArgumentKind::Flag, true, "Whether there is a signal"}}},
        with(command_sim_carrier));
    add({"sim-routes", "List the routes of the simulated data plane", {}}, plain(command_sim_routes));
    add({"sim-nexthops", "List the next hops and groups of the simulated data plane", {}}, plain(command_sim_nexthops));
  }
  return status;
}

}  // namespace rondo::daemon
