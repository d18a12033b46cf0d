// The switch's and the jobs' part of stats, top and health: data plane, agent, ports, direct servers, and the files of tables.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/counted.h"
#include "commands/answers.h"
#include "rondod/commands/commands.h"
#include "rondod/limits.h"
#include "switch_agent/facts.h"

namespace rondo::daemon {

namespace {

namespace json = boost::json;
using commands::microseconds;
using commands::sentence;
using commands::text;

json::array families_json(const switch_agent::Routes& routes) {
  json::array rows;
  for (const auto& [vrf, is_v6, count] : routes.families())
    rows.push_back(json::object{{"vrf", text(vrf)}, {"afi", is_v6 ? "ipv6" : "ipv4"}, {"routes", count}});
  return rows;
}

json::object agent_json(const switch_agent::SwitchAgent& agent) {
  const switch_agent::Routes::Counts routes = agent.routes().counts();
  const switch_agent::NexthopGroups::Counts groups = agent.nexthop_groups().counts();
  return json::object{{"routes", routes.routes},
                      {"families", families_json(agent.routes())},
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

std::uint64_t refused_orders(const Programmer& programmer) {
  return programmer.answered(Programmer::Kind::RefusedSet) + programmer.answered(Programmer::Kind::RefusedDelete);
}

json::object dataplane_json(const CommandContext& context) {
  const Programmer& programmer = context.agent->programmer();
  const ProgrammerStats& stats = programmer.stats();
  return json::object{{"kind", text(context.plane->describe())},
                      {"submitted", stats.submitted},
                      {"applied", stats.applied},
                      {"failed", refused_orders(programmer)},
                      {"gone_deletes", programmer.gone_deletes()},
                      {"applied_sets", programmer.answered(Programmer::Kind::AppliedSet)},
                      {"refused_sets", programmer.answered(Programmer::Kind::RefusedSet)},
                      {"applied_deletes", programmer.answered(Programmer::Kind::AppliedDelete)},
                      {"refused_deletes", programmer.answered(Programmer::Kind::RefusedDelete)},
                      {"batches", stats.batches},
                      {"full_batches", stats.full_batches},
                      {"full", stats.full},
                      {"in_flight", programmer.in_flight()},
                      {"busy_us", microseconds(stats.busy)},
                      {"latency_p50_us", microseconds(stats.latency_ns.quantile(0.5))},
                      {"latency_p99_us", microseconds(stats.latency_ns.quantile(0.99))},
                      {"latency_histogram", commands::histogram_json(stats.latency_ns)}};
}

json::object port_events_json(const switch_agent::Ports& ports) {
  const Histogram& wait = ports.event_wait_ns();
  return json::object{{"count", wait.count()},
                      {"p50_us", microseconds(wait.quantile(0.5))},
                      {"p99_us", microseconds(wait.quantile(0.99))},
                      {"max_us", microseconds(wait.max())}};
}

json::array files_json(const CommandContext& context) {
  json::array rows;
  const Instant now = context.runtime.clock().now();
  for (const std::unique_ptr<TableFile>& one : context.files) {
    const DurableStoreStats& file = one->stats();
    const Status trouble = one->health();
    json::array damage;
    for (const std::string& lost : file.damage) {
      if (damage.size() == limits::kDamageShown) break;
      damage.push_back(text(lost));
    }
    rows.push_back(json::object{{"file", text(one->path())},
                                {"records", file.records},
                                {"bytes", file.bytes},
                                {"commits", file.commits},
                                {"failed_commits", file.failed},
                                {"failed_upkeep", file.failed_upkeep},
                                {"refused", file.refused},
                                {"longest_commit_us", microseconds(file.longest_commit)},
                                {"commit_histogram", commands::histogram_json(file.commit_ns)},
                                {"snapshots", file.snapshots},
                                {"restored", file.restored},
                                {"waiting", file.waiting},
                                {"waiting_bytes", file.waiting_bytes},
                                {"failing_s", trouble.ok() ? 0.0 : microseconds(now - file.failing_since) / 1e6},
                                {"trouble", sentence(trouble.message())},
                                {"damage_parts", file.damage.size()},
                                {"damage", std::move(damage)},
                                {"damaged_file", text(file.damaged_file)}});
  }
  return rows;
}

json::array direct_json(const CommandContext& context) {
  json::array rows;
  for (const auto& feed : context.feeds) {
    const ZmqServerStats& server = feed->server();
    const ZmqStoreStats store = feed->store();
    json::object faults;
    for (std::size_t i = 0; i < kZmqFaults; ++i) faults.emplace(to_string(static_cast<ZmqFault>(i)), server.faults[i]);
    json::array tables;
    for (const std::string& table : feed->tables()) tables.push_back(text(table));
    rows.push_back(json::object{{"endpoint", text(feed->endpoint())},
                                {"tables", std::move(tables)},
                                {"connections", server.connections},
                                {"open_connections", server.open_connections},
                                {"connections_most", server.connections_most},
                                {"frame_bytes", server.frame_bytes},
                                {"frames", server.frames},
                                {"entries", server.entries},
                                {"pauses", server.pauses},
                                {"faults", std::move(faults)},
                                {"staged", feed->staged()},
                                {"recovered", feed->is_recovered()},
                                {"rows_recovered", store.recovered},
                                {"written", store.written},
                                {"behind", store.behind + store.under_way},
                                {"left_out", store.left_out}});
  }
  return rows;
}

/// A listener that cannot accept more connections excludes feeders.
void add_feed_troubles(const DirectFeed& feed, json::array& troubles, json::array& notes) {
  const ZmqServerStats& server = feed.server();
  const auto count = [&server](ZmqFault cause) { return server.faults[static_cast<std::size_t>(cause)]; };
  const std::string who = "direct tables at " + feed.endpoint() + ": ";
  if (server.open_connections >= server.connections_most) {
    troubles.push_back(sentence(who + "all " + std::to_string(server.connections_most) + " connections are in use, and others wait"));
  }
  if (const std::uint64_t cut = count(ZmqFault::TooManyPeers); cut != 0) {
    notes.push_back(sentence(who + "its limits of connections were met " + counted(cut, "time") + " since the start"));
  }
  if (const std::uint64_t cut = count(ZmqFault::FrameMemory); cut != 0) {
    notes.push_back(sentence(who + counted(cut, "connection was", "connections were") +
                             " cut since the start, as parts of their frames held too much"));
  }
}

/// The most ports named, so that they fit on a screen.
constexpr std::size_t kPortsNamed = 10;

/// A port that the kernel has not had for this long is a trouble, and one that it no longer has. At a start devices may come after their
/// rows.
constexpr Duration kPortMissing = 10s;

/// "swp1, swp2 and more".
std::string first_ports(const std::vector<std::string>& ports) {
  std::string told;
  for (std::size_t i = 0; i < std::min(kPortsNamed, ports.size()); ++i) told.append(i == 0 ? "" : ", ").append(ports[i]);
  return ports.size() > kPortsNamed ? told + " and more" : told;
}

/// Reports finished rows that the data plane has dropped because a port is down. It is a note, because only the operator knows whether
/// that is intended.
void add_withdrawn(const CommandContext& context, json::array& notes) {
  std::string told;
  for (const auto& [table, what] :
       {std::pair{"ROUTE_TABLE", "route"}, std::pair{"NEXTHOP_GROUP_TABLE", "next-hop group"}, std::pair{"INTF_TABLE", "interface row"}}) {
    const PlaneCounts counts = context.agent->row_states().counts(table);
    if (counts.withdrawn != 0) told.append(told.empty() ? "" : ", ").append(counted(counts.withdrawn, what));
  }
  if (told.empty()) return;
  if (const std::vector<std::string> ports = context.agent->interfaces().withdrawn_ports(); !ports.empty()) {
    told.append(" of ").append(first_ports(ports));
  }
  const switch_agent::Withdrawals all = context.agent->withdrawals();
  for (std::size_t i = 0; i < std::min(kPortsNamed, all.by_port.size()); ++i) {
    const switch_agent::Withdrawal& one = all.by_port[i];
    told.append("; ").append(one.why).append(": ").append(counted(one.routes, "route"));
  }
  if (all.is_cut || all.by_port.size() > kPortsNamed) told.append("; and more");
  notes.push_back(sentence("withdrawn from the data plane: " + told));
}

/// Reports groups whose next hops the data plane refuses again and again: their rows wait for a fact. Other rows that are refused wait for
/// a time, and the consumers count those.
void add_refused(const CommandContext& context, json::array& troubles) {
  const std::size_t groups = context.agent->row_states().counts("NEXTHOP_GROUP_TABLE").refused;
  const std::size_t sets = context.agent->nexthop_groups().state_counts(switch_agent::kNextHops).refused;
  if (groups + sets == 0) return;
  std::string told = groups == 0 ? "" : counted(groups, "next-hop group");
  if (sets != 0) told.append(told.empty() ? "" : ", ").append(counted(sets, "set") + " of next hops that routes name");
  troubles.push_back(sentence("refused by the data plane, and tried again: " + told + "; rondo why names the reason"));
}

/// Reports next hops that are in none of their groups, although their ports can be used. Their rows are installed with the others.
void add_left_out(const CommandContext& context, json::array& troubles, json::array& notes) {
  const switch_agent::NexthopGroups::LeftOut out = context.agent->nexthop_groups().left_out();
  if (out.refused != 0) {
    troubles.push_back(sentence("refused by the data plane: " + counted(out.refused, "next hop") +
                                ", without which groups and routes are installed (the first: " + out.first_refused + ")"));
  }
  if (out.unresolved != 0) {
    notes.push_back(sentence(
        counted(out.unresolved, "next hop") + (out.unresolved == 1 ? " has" : " have") +
        " no neighbour in the kernel, and groups and routes are installed without them (the first: " + out.first_unresolved + ")"));
  }
}

/// Reports VLANs and LAGs whose device another program has changed: no audit compares devices.
void add_lost(const CommandContext& context, json::array& troubles) {
  for (const auto& [table, what] : {std::pair{"VLAN_TABLE", "VLAN"}, std::pair{"LAG_TABLE", "LAG"}}) {
    const std::size_t lost = context.agent->row_states().counts(table).lost;
    if (lost == 0) continue;
    troubles.push_back(sentence(counted(lost, what) + (lost == 1 ? " differs from its row" : " differ from their rows") +
                                ": another program changed the device, which is reported and not repaired; 'rondo diff " + table +
                                "' names the difference, and writing the row again repairs it"));
  }
}

/// Reports rows of ports whose device the kernel has not had for a while: a wrong name, or a module that is not plugged in.
void add_without_device(const CommandContext& context, json::array& troubles) {
  const std::vector<std::string> ports = context.agent->ports().without_device(context.runtime.clock().now() - kPortMissing);
  if (ports.empty()) return;
  const std::string told = counted(ports.size(), "row") + " of PORT_TABLE " + (ports.size() == 1 ? "has" : "have") +
                           " no device in the kernel: " + first_ports(ports);
  troubles.push_back(sentence(told + "; what these ports should carry waits for them"));
}

/// Reports rows that wait while the data plane has what they asked for before: packets follow that, and the wait may have no end.
void add_outdated(const CommandContext& context, json::array& troubles) {
  if (context.earlier == nullptr) return;
  for (const EarlierVersions::Outdated& one : context.earlier->outdated()) {
    troubles.push_back(sentence(counted(one.rows, "row") + " of " + one.table + (one.rows == 1 ? " waits" : " wait") +
                                " while the data plane keeps what was asked for before; the first is " + one.first + ", and 'rondo why " +
                                one.table + " " + one.first + "' names what it waits for"));
  }
}

/// Reports ports of the router that are in a bridge, addresses that other devices have, connected subnets that are missing in the table of
/// the routes, and devices of ours that another program has renamed.
void add_moved(const CommandContext& context, json::array& troubles, json::array& notes) {
  const auto add_all = [](const std::vector<std::string>& all, json::array& to) {
    for (std::size_t i = 0; i < std::min(kPortsNamed, all.size()); ++i) to.push_back(sentence(all[i]));
    if (all.size() > kPortsNamed) to.push_back(sentence("the same of " + std::to_string(all.size() - kPortsNamed) + " more"));
  };
  add_all(context.agent->interfaces().taken(), troubles);
  add_all(context.agent->interfaces().duplicates(), troubles);
  add_all(context.agent->missing_subnets(), troubles);
  add_all(context.agent->renamed(), notes);
}

}  // namespace

void add_stats(const CommandContext& context, json::object& stats) {
  stats["store"].as_object()["files"] = files_json(context);
  stats["store"].as_object()["redis"] = context.redis.figures();
  stats["direct"] = direct_json(context);
  stats["fpm"] = fpm_json(context);
  stats["managers"] = managers_json(context);
  stats["neighbors"] = context.neighbors == nullptr ? json::value(nullptr) : json::value(context.neighbors->figures());
  if (context.jobs != nullptr) context.jobs->add_stats(stats);
  if (context.agent == nullptr) return;
  stats["dataplane"] = dataplane_json(context);
  stats["agent"] = agent_json(*context.agent);
  stats["resources"] = resources_json(context);
  stats["audit"] = audit_json(context);
  stats["port_events"] = port_events_json(context.agent->ports());
}

void add_top(const CommandContext& context, json::object& top) {
  if (context.agent == nullptr) return;
  const Programmer& programmer = context.agent->programmer();
  const ProgrammerStats& programmed = programmer.stats();
  top["dataplane"] = json::object{{"kind", text(context.plane->describe())}, {"submitted", programmed.submitted},
                                  {"applied", programmed.applied},           {"failed", refused_orders(programmer)},
                                  {"in_flight", programmer.in_flight()},     {"busy_us", microseconds(programmed.busy)}};
}

void add_health(CommandContext& context, json::array& troubles, json::array& notes) {
  const Instant now = context.runtime.clock().now();
  const bool holds = context.agent != nullptr && !context.agent->has_restarted();
  const auto is_damaged = [](const std::unique_ptr<TableFile>& file) { return !file->stats().damage.empty(); };
  if (holds && std::ranges::any_of(context.files, is_damaged)) {
    notes.push_back(
        sentence("until [dataplane] hold_s (an hour, if it is 0) is over, what an earlier run programmed stays, because rows were lost"));
  }
  for (const auto& feed : context.feeds) add_feed_troubles(*feed, troubles, notes);
  add_fpm_health(context, troubles, notes);
  add_managers_health(context, troubles, notes);
  context.redis.add_health(context.runtime.clock(), notes);
  if (context.jobs != nullptr) context.jobs->add_health(troubles, notes);
  if (!context.refused_config.empty()) {
    notes.push_back(sentence("the configuration could not be read again, and the next start would fail: " + context.refused_config));
  }
  if (context.agent == nullptr) return;
  if (!context.plane_holder.empty()) {
    notes.push_back(sentence("standby: " + context.plane_holder + " programs the namespace with protocol number " +
                             std::to_string(context.config.protocol) + "; this rondod takes over when that process ends"));
  }
  if (!context.namespace_trouble.empty()) troubles.push_back(sentence(context.namespace_trouble));
  const auto held_back = context.safety == nullptr ? std::vector<switch_agent::SafetyStop::Held>{} : context.safety->held();
  const auto is_of_start = [](const switch_agent::SafetyStop::Held& held) { return held.what == switch_agent::kEarlierRun; };
  if (holds && context.plane_holder.empty() && std::ranges::none_of(held_back, is_of_start)) {
    const bool waits_for_zebra = context.fpm != nullptr && context.fpm->figures().resyncs == 0;
    notes.push_back(sentence(
        std::string{"what an earlier run left in the data plane is not taken over yet: that waits until each row has come and is handled"} +
        (waits_for_zebra ? ", and until zebra's resend has ended" : "") +
        "; until then rondod repairs what rows ask for, and deletes nothing else"));
  }
  add_held(context, troubles);
  if (const auto held = context.agent->routes().held_by_others(); held.routes != 0) {
    troubles.push_back(sentence("routes of other programs are in the place of " + counted(held.routes, "row") +
                                ", which wait until they go: " + held.first));
  }
  if (const auto decided = context.agent->routes().decided_by_others(); decided.routes != 0) {
    troubles.push_back(sentence("routes of other programs decide the packets of " + counted(decided.routes, "row") + ": " + decided.first));
  }
  if (const auto held = context.agent->fdb().held_by_others(); held.rows != 0) {
    troubles.push_back(sentence("entries that rondod must not replace are in the place of " + counted(held.rows, "row") +
                                " of FDB_TABLE, which wait until they go: " + held.first));
  }
  add_without_device(context, troubles);
  add_outdated(context, troubles);
  add_withdrawn(context, notes);
  add_lost(context, troubles);
  add_moved(context, troubles, notes);
  add_refused(context, troubles);
  add_left_out(context, troubles, notes);
  add_resources_health(context, troubles);
  add_audit_health(context, troubles);
  check_refused_orders(context);
  context.refused_orders.note(now, notes);  // Rows that the data plane still refuses are troubles of their table.
}

std::string unready(const CommandContext& context) {
  std::string words;
  if (!context.runtime.store().health().ok()) words += "store\n";
  if (context.jobs != nullptr && !context.jobs->health().ok()) words += "jobs\n";
  if (context.agent == nullptr) return words;
  if (!context.namespace_trouble.empty()) words += "namespace\n";
  if (!context.plane_holder.empty()) return words + "standby\n";
  return context.agent->has_restarted() ? words : words + "restart\n";
}

void check_refused_orders(CommandContext& context) {
  if (context.agent == nullptr) return;
  context.refused_orders.check(refused_orders(context.agent->programmer()), "what it refuses for good is rejected, the log has why",
                               context.runtime.clock());
}

}  // namespace rondo::daemon
