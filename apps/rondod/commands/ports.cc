// The commands about ports, and those that read the simulated data plane and move its ports.
#include <algorithm>
#include <string>
#include <utility>

#include "commands/answers.h"
#include "rondod/commands/commands.h"

namespace rondo::daemon {

namespace {

namespace json = boost::json;
using commands::answer_each;
using commands::text;

void command_ports(CommandContext& context, Reply reply) {
  answer_each(std::move(reply), context.agent->ports().ports(), [&ports = context.agent->ports()](const switch_agent::Ports::Port& port) {
    return json::object{{"name", text(port.name)},
                        {"index", port.id.value()},
                        {"exists", port.exists},
                        {"configured", port.configured},
                        {"admin_up", port.admin_up},
                        {"carrier", port.carrier},
                        {"mtu", port.mtu},
                        {"carrier_changes", port.carrier_changes},
                        {"note", text(ports.trouble(port.name))}};
  });
}

void command_port_events(CommandContext& context, const Arguments& arguments, Reply reply) {
  const auto since = static_cast<std::uint64_t>(std::max<std::int64_t>(0, arguments.integer("since", 0)));
  answer_each(std::move(reply), context.agent->ports().handled_since(since), [](const switch_agent::Ports::Handled& handled) {
    return json::object{
        {"sequence", handled.sequence}, {"port", text(handled.port)}, {"carrier", handled.carrier}, {"at_ns", handled.at.nanoseconds()}};
  });
}

void command_sim_carrier(CommandContext& context, const Arguments& arguments, Reply reply) {
  const std::string port = arguments.text("port");
  const auto ports = context.agent->ports().ports();
  const auto found = std::ranges::find(ports, port, &switch_agent::Ports::Port::name);
  if (found == ports.end() || !found->exists) {
    return reply.fail(Status{StatusCode::NotFound, "no port '" + escape_text(port) + "'"});
  }
  context.simulated->set_carrier(port, arguments.flag("up"));
  reply.finish();
}

void command_sim_routes(CommandContext& context, Reply reply) {
  std::vector<RouteEntry> routes;
  const Status read = context.simulated->routes([&](const RouteEntry& route) { routes.push_back(route); });
  if (!read.ok()) return reply.fail(read);
  answer_each(std::move(reply), std::move(routes), [](const RouteEntry& route) {
    return json::object{{"prefix", text(route.prefix.to_string())}, {"nexthop", route.nexthop.value()}};
  });
}

void command_sim_nexthops(CommandContext& context, Reply reply) {
  auto nexthops = context.simulated->nexthops();
  if (!nexthops) return reply.fail(nexthops.error());
  answer_each(std::move(reply), std::move(*nexthops), [](const NexthopEntry& entry) {
    json::array members;
    for (const GroupMember& member : entry.members)
      members.push_back(json::object{{"id", member.nexthop.value()}, {"weight", member.weight}});
    return json::object{{"id", entry.id.value()},
                        {"gateway", text(entry.gateway.to_string())},
                        {"port", entry.port.value()},
                        {"members", std::move(members)}};
  });
}

}  // namespace

void add_port_commands(DaemonAdder& commands) {
  using commands::optional;
  using commands::required;
  commands.add({"ports", "List the ports", {}, CommandEffect::Reads}, command_ports);
  commands.add({"port-events",
                "List handled carrier changes",
                {optional("since", ArgumentKind::Integer, "After this sequence number")},
                CommandEffect::Reads},
               command_port_events);
  if (commands.target().simulated == nullptr) return;
  commands.add({"sim-carrier",
                "Give a simulated port a signal or take it away",
                {required("port", "Port"), {"up", ArgumentKind::Flag, true, "true: the port has a signal"}}},
               command_sim_carrier);
  commands.add({"sim-routes", "List the routes of the simulated data plane", {}, CommandEffect::Reads}, command_sim_routes);
  commands.add({"sim-nexthops", "List the next hops and groups of the simulated data plane", {}, CommandEffect::Reads},
               command_sim_nexthops);
}

}  // namespace rondo::daemon
