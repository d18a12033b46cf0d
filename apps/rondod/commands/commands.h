// Commands: rondod's additions to the standard commands (rondo/commands/standard_commands.h): ports, the configuration, the simulated data
// plane, and the switch's and the jobs' part of stats, top and health. Each command reads what a module already keeps.
// docs/guide/admin-protocol.md documents the answers.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "commands/command_adder.h"
#include "commands/incidents.h"
#include "managers/managers.h"
#include "rondo/dataplane/simulated.h"
#include "rondo/orch/runtime.h"
#include "rondod/commands/earlier_versions.h"
#include "rondod/configuration/config.h"
#include "rondod/fpm/fpm_feed.h"
#include "rondod/jobs/job_service.h"
#include "rondod/managers/neighbor_feed.h"
#include "rondod/managers/state_db.h"
#include "rondod/stores/direct.h"
#include "rondod/stores/file.h"
#include "rondod/stores/redis_watch.h"
#include "switch_agent/agent.h"
#include "switch_agent/resources.h"

namespace rondo::daemon {

/// The objects that the commands read. All must outlive the context; 'simulated' is null with a real kernel.
struct CommandContext {
  Runtime& runtime;
  const switch_agent::SwitchAgent* agent;  // Null without a data plane, as the next three.
  switch_agent::SafetyStop* safety;
  DataPlane* plane;
  SimDataPlane* simulated = nullptr;
  const std::vector<std::unique_ptr<DirectFeed>>& feeds;
  const std::vector<std::unique_ptr<TableFile>>& files;
  switch_agent::Resources* resources;   // Null without a data plane.
  const std::unique_ptr<FpmFeed>& fpm;  // Null unless it is enabled, as the next one.
  const std::unique_ptr<managers::Managers>& managers;
  const std::unique_ptr<StateDb>& state_db;        // Null unless it is written.
  const std::unique_ptr<NeighborFeed>& neighbors;  // Null unless it learns neighbours.
  RedisWatch& redis;
  const std::string& plane_holder;  // As a standby, the process that programs the namespace; empty: this one does.
  const Config& config;
  const JobService* jobs;                         // Null if this rondod runs no jobs.
  std::string namespace_trouble = {};             // Why the namespace is not the one of its name any more; empty if it is.
  std::string refused_config = {};                // Why the configuration could not be read again; empty if it could.
  std::unique_ptr<EarlierVersions> earlier = {};  // Set by add_restart_command().
  commands::Incident refused_orders{"orders that the data plane refused"};
  commands::Incident repaired{
      "rows of the managers that were changed or deleted, by another program or with data of a Redis, and that were written again"};
  std::uint64_t repaired_reported = 0;
};

using DaemonAdder = commands::CommandAdder<CommandContext>;

void add_port_commands(DaemonAdder& commands);   // ports, port-events, and the commands that move simulated ports.
void add_config_command(DaemonAdder& commands);  // config.
void add_fpm_command(DaemonAdder& commands);     // fpm.
/// restart-check; also begins to answer on the channel RESTARTCHECK. Returns the error of a channel that the store refuses.
Status add_restart_command(DaemonAdder& adder);
void add_safety_command(DaemonAdder& commands);     // confirm.
void add_resources_command(DaemonAdder& commands);  // resources.
void add_audit_commands(DaemonAdder& commands);     // diff, verify, resync.
/// Commands that say why they are absent: without a data plane those about it, and so on.
void add_absent_switch_commands(DaemonAdder& commands);
void add_absent_job_commands(DaemonAdder& commands);
void add_absent_executor_commands(DaemonAdder& commands);
void add_absent_api_commands(DaemonAdder& commands);

/// Adds the switch's members to the answers of `stats`, `top` and `health`.
void add_stats(const CommandContext& context, boost::json::object& stats);
void add_top(const CommandContext& context, boost::json::object& top);
void add_health(CommandContext& context, boost::json::array& troubles, boost::json::array& notes);
/// What keeps this rondod from its work at present, one word a line: store, jobs, namespace, standby, restart. Empty: it is ready. O(1).
std::string unready(const CommandContext& context);
/// Counts the routes of zebra that the data plane does not have, in turns of 'reply', and calls 'end' with it if it is still wanted.
using AbsentCounted = std::function<void(Reply reply, const fpm::RouteBook::Absent& absent)>;
void count_absent(const CommandContext& context, Reply reply, AbsentCounted end, fpm::RouteBook::Absent absent = {});
/// The member "fpm" of `stats`: null unless the FPM server is enabled.
boost::json::value fpm_json(const CommandContext& context);
void add_fpm_health(const CommandContext& context, boost::json::array& troubles, boost::json::array& notes);
/// The member "managers" of `stats`: null unless they are enabled.
boost::json::value managers_json(const CommandContext& context);
/// Logs the rows that were written again since the last call. Called every second.
void check_repaired_rows(CommandContext& context, Log& log);
void add_managers_health(const CommandContext& context, boost::json::array& troubles, boost::json::array& notes);
/// Adds the deletions that the safety stop holds to the troubles.
void add_held(const CommandContext& context, boost::json::array& troubles);
/// The member "resources" of `stats`.
boost::json::object resources_json(const CommandContext& context);
void add_resources_health(const CommandContext& context, boost::json::array& troubles);
void log_resource(Log& log, const switch_agent::Resources::Use& use);
/// Logs an event of the safety stop.
void log_safety(Log& log, switch_agent::SafetyStop::Event event, const switch_agent::SafetyStop::Held& held);
/// The audit's member of `stats` and `health`.
boost::json::object audit_json(const CommandContext& context);
void add_audit_health(const CommandContext& context, boost::json::array& troubles);
/// Reads the data plane's counters. Called every second and before `health`, see commands/incidents.h.
void check_refused_orders(CommandContext& context);

}  // namespace rondo::daemon
