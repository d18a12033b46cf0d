// The commands diff, verify and resync, and the audit's share of stats and health.
#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "base/counted.h"
#include "commands/answers.h"
#include "rondod/commands/commands.h"
#include "switch_agent/audit.h"

namespace rondo::daemon {

namespace {

namespace json = boost::json;
using commands::microseconds;
using commands::sentence;
using commands::text;
using switch_agent::Audit;
using switch_agent::Drift;
using switch_agent::KindMask;
using switch_agent::ObjectKind;

constexpr std::array<ObjectKind, switch_agent::kObjectKinds> kKinds{ObjectKind::Address, ObjectKind::Neighbor, ObjectKind::Nexthop,
                                                                    ObjectKind::Route, ObjectKind::Fdb};

/// What to audit for a table.
struct Scope {
  KindMask kinds{};
  bool devices = false;
};

Result<Scope> scope_of(const std::string& table) {
  Scope scope;
  if (table.empty()) return Scope{switch_agent::kAllKinds, true};
  const auto of = [&scope](ObjectKind kind) { scope.kinds[static_cast<std::size_t>(kind)] = true; };
  scope.devices = table == "PORT_TABLE" || table == "INTF_TABLE" || table == "VLAN_TABLE" || table == "LAG_TABLE";
  if (table == "INTF_TABLE") {
    of(ObjectKind::Address);
  } else if (table == "NEIGH_TABLE") {
    of(ObjectKind::Neighbor);
  } else if (table == "NEXTHOP_GROUP_TABLE") {
    of(ObjectKind::Nexthop);
  } else if (table == "ROUTE_TABLE") {
    of(ObjectKind::Route);
  } else if (table == "FDB_TABLE") {
    of(ObjectKind::Fdb);
  } else if (!scope.devices) {
    return failure(
        StatusCode::NotFound,
        "no objects of the data plane belong to the table '" + escape_text(table) +
            "': PORT_TABLE, LAG_TABLE, VLAN_TABLE, INTF_TABLE, NEIGH_TABLE, NEXTHOP_GROUP_TABLE, ROUTE_TABLE and FDB_TABLE have some");
  }
  return scope;
}

json::object drift_json(const Drift& drift) {
  return json::object{{"difference", to_string(drift.kind)},
                      {"table", text(drift.table)},
                      {"key", text(drift.key)},
                      {"wanted", text(drift.wanted)},
                      {"actual", text(drift.actual)}};
}

/// The answer, and how much of it was sent.
struct Answer {
  std::vector<Drift> drifts;
  json::object result;
  std::size_t next = 0;
};

void send(Reply reply, const std::shared_ptr<Answer>& answer) {
  reply.expect_rows();
  while (answer->next < answer->drifts.size() && !reply.page_full()) reply.row(drift_json(answer->drifts[answer->next++]));
  if (answer->next == answer->drifts.size()) return reply.finish(answer->result);
  reply.next_turn([answer](Reply later) { send(std::move(later), answer); });
}

/// Rows of the audited tables that stay out because of other programs, also those that an earlier audit or their own order found.
std::size_t held_by_others(const switch_agent::SwitchAgent& agent, const Audit::Report& report) {
  std::size_t rows = 0;
  for (const switch_agent::AuditResult& one : report.results) {
    if (one.kind == ObjectKind::Route) rows += agent.routes().held_by_others().routes;
    if (one.kind == ObjectKind::Fdb) rows += agent.fdb().held_by_others().rows;
  }
  return rows;
}

void answer_report(const CommandContext& context, Reply reply, std::vector<Drift> devices, const Audit::Report& report, bool repairs) {
  if (!report.status.ok()) return reply.fail(report.status.with_context("reading the data plane"));
  auto answer = std::make_shared<Answer>();
  std::uint64_t differences = devices.size();
  std::uint64_t repaired = 0;
  std::uint64_t not_repaired = 0;
  for (const switch_agent::AuditResult& one : report.results) {
    const std::uint64_t found = std::accumulate(one.found.begin(), one.found.end(), std::uint64_t{0});
    differences += found;
    repaired += one.repaired;
    not_repaired += one.not_repaired;
  }
  answer->drifts = std::move(devices);
  answer->drifts.insert(answer->drifts.end(), report.drifts.begin(), report.drifts.end());
  answer->result = {
      {"differences", differences}, {"shown", answer->drifts.size()}, {"held_by_others", held_by_others(*context.agent, report)}};
  if (repairs) {
    answer->result["repaired"] = repaired;
    answer->result["not_repaired"] = not_repaired;
  }
  answer->result["fpm_absent"] = 0;
  const auto has_routes = [](const switch_agent::AuditResult& one) { return one.kind == ObjectKind::Route; };
  if (std::ranges::none_of(report.results, has_routes)) return send(std::move(reply), answer);
  count_absent(context, std::move(reply), [answer](Reply end, const fpm::RouteBook::Absent& absent) {
    answer->result["fpm_absent"] = absent.routes;
    send(std::move(end), answer);
  });
}

/// Differences of the devices that rows of 'table' ask for, or of all devices if 'table' is empty.
std::vector<Drift> device_differences(const switch_agent::SwitchAgent& agent, const std::string& table) {
  std::vector<Drift> found = agent.device_differences();
  if (!table.empty()) std::erase_if(found, [&table](const Drift& one) { return one.table != table; });
  return found;
}

void audit(CommandContext& context, const Arguments& arguments, Reply reply, switch_agent::OnDrift action) {
  const std::string table = arguments.text("table", "");
  const Result<Scope> scope = scope_of(table);
  if (!scope) return reply.fail(scope.error());
  if (!context.plane_holder.empty()) {
    return reply.fail(Status{StatusCode::FailedPrecondition,
                             "this rondod stands by for " + context.plane_holder + ", which programs the data plane: call that one"});
  }
  const bool repairs = action == switch_agent::OnDrift::Repair;
  const auto done = [&context, reply, repairs, table, with_devices = scope->devices](const Audit::Report& report) {
    if (!reply.wanted()) return;
    answer_report(context, reply, with_devices ? device_differences(*context.agent, table) : std::vector<Drift>{}, report, repairs);
  };
  if (std::ranges::none_of(scope->kinds, [](bool one) { return one; })) return done({});
  const auto wanted = [reply] { return reply.wanted(); };
  if (const Status asked = context.agent->audit()->request(scope->kinds, action, done, wanted); !asked.ok()) reply.fail(asked);
}

json::object figures_json(const switch_agent::AuditFigures& figures, Instant now) {
  const bool ever = figures.last != Instant{};
  return json::object{{"audits", figures.audits},
                      {"failed", figures.failed},
                      {"objects", figures.objects},
                      {"missing", figures.missing},
                      {"changed", figures.changed},
                      {"unwanted", figures.unwanted},
                      {"repaired", figures.repaired},
                      {"standing", figures.standing},
                      {"age_s", ever ? json::value(microseconds(now - figures.last) / 1e6) : json::value(nullptr)},
                      {"took_us", microseconds(figures.took)}};
}

}  // namespace

void add_audit_commands(DaemonAdder& commands) {
  using commands::optional;
  const auto table = optional("table", ArgumentKind::Text, "Only what belongs to this table");
  commands.add({"diff", "How the data plane differs from the rows", {table}, CommandEffect::Reads},
               [](CommandContext& context, const Arguments& arguments, Reply reply) {
                 audit(context, arguments, std::move(reply), switch_agent::OnDrift::Report);
               });
  commands.add({"verify", "Compare the data plane with the rows", {table}, CommandEffect::Reads},
               [](CommandContext& context, const Arguments& arguments, Reply reply) {
                 audit(context, arguments, std::move(reply), switch_agent::OnDrift::Report);
               });
  commands.add({"resync", "Repair what differs in the data plane", {table}},
               [](CommandContext& context, const Arguments& arguments, Reply reply) {
                 audit(context, arguments, std::move(reply), switch_agent::OnDrift::Repair);
               });
}

json::object audit_json(const CommandContext& context) {
  const Audit& audit = *context.agent->audit();
  const Instant now = context.runtime.clock().now();
  std::uint64_t held = 0;
  for (const switch_agent::SafetyStop::Held& one : context.safety->held()) held += one.count;
  json::object object{{"running", audit.has_begun()},
                      {"period_s", microseconds(audit.options().period) / 1e6},
                      {"on_drift", audit.options().action == switch_agent::OnDrift::Repair ? "repair" : "report"},
                      {"ports", context.agent->port_differences().size()},
                      {"held", held}};
  for (const ObjectKind kind : kKinds) object[to_string(kind)] = figures_json(audit.figures(kind), now);
  return object;
}

/// Reports objects that another program changes again after each repair.
void add_contested(const Audit& audit, ObjectKind kind, json::array& troubles) {
  const unsigned repairs = audit.contested(kind);
  if (repairs == 0) return;
  std::string words = "another program changes " + std::string{to_string(kind)} + " again after each repair, " + std::to_string(repairs) +
                      " times in a row; the log names the first of each";
  const std::size_t missing = kind == ObjectKind::Route ? audit.routes_missing() : 0;
  if (missing != 0) words += "; " + counted(missing, "route is", "routes are") + " missing until the next repair";
  troubles.push_back(sentence(words));
}

void add_audit_health(const CommandContext& context, json::array& troubles) {
  const Audit& audit = *context.agent->audit();
  for (const ObjectKind kind : kKinds) {
    add_contested(audit, kind, troubles);
    const switch_agent::AuditFigures& figures = audit.figures(kind);
    if (!figures.status.ok()) {
      troubles.push_back(
          sentence("the audit cannot read the " + std::string{to_string(kind)} + " of the data plane: " + figures.status.to_string()));
    }
    if (figures.standing == 0) continue;
    const auto standing = audit.standing(kind);
    const Drift* const first = standing.empty() ? nullptr : &standing.front();
    std::string words =
        std::to_string(figures.standing) + " " + std::string{to_string(kind)} + " of the data plane differ from the rows at the last audit";
    if (first != nullptr) {
      words += " (the first: " + std::string{to_string(first->kind)} + " " + (first->wanted.empty() ? first->actual : first->wanted) + ")";
    }
    const std::vector<switch_agent::SafetyStop::Held> held = context.safety->held();
    const bool is_held =
        std::ranges::find(held, "unwanted " + std::string{to_string(kind)}, &switch_agent::SafetyStop::Held::what) != held.end();
    troubles.push_back(sentence(words + ": 'rondo diff' lists them, " +
                                (is_held ? "the safety stop holds their deletion" : "'rondo resync' repairs them")));
  }
  const std::vector<Drift> ports = context.agent->port_differences();
  if (ports.empty()) return;
  troubles.push_back(sentence(std::to_string(ports.size()) +
                              (ports.size() == 1 ? " port differs from its row (" : " ports differ from their rows (the first: ") +
                              ports.front().key + " is " + ports.front().actual + ", and its row asks for " + ports.front().wanted +
                              "): another program changed them, which is reported and not repaired; write the row again to do so"));
}

}  // namespace rondo::daemon
