// Commands: what the admin socket of rondod answers. Each command reads what a module already keeps; none has logic of its own. The shapes
// of the answers are documented in docs/guide/admin-protocol.md.
#pragma once

#include <memory>
#include <vector>

#include "agent/agent.h"
#include "rondo/admin/command.h"
#include "rondo/admin/server.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/stall_watchdog.h"
#include "rondo/sim/sim_dataplane.h"
#include "rondod/config.h"
#include "rondod/direct_maker.h"
#include "rondod/durable_maker.h"
#include "rondod/log_keeper.h"
#include "rondod/mishaps.h"
#include "rondod/watchers.h"
#include "rondod/write_failures.h"

namespace rondo::daemon {

/// What the commands look at. Everything outlives the registry's use; 'server', 'watchdog' (before it is started) and 'simulated' may be
/// null (simulated: there is a real kernel).
struct CommandContext {
  Runtime& runtime;
  const agent::Agent& agent;
  DataPlane& plane;
  sim::SimDataPlane* simulated = nullptr;
  const std::unique_ptr<AdminServer>& server;
  const std::unique_ptr<StallWatchdog>& watchdog;
  WriteFailures& failures;
  Mishaps& mishaps;
  const std::vector<std::unique_ptr<DirectFeed>>& feeds;
  const std::vector<std::unique_ptr<TableFile>>& files;
  Watchers& watchers;
  const Config& config;
  const LogKeeper& log;
  Instant started;
};

/// AlreadyExists only if a name is registered twice.
Status register_commands(CommandRegistry& registry, const CommandContext& context);

}  // namespace rondo::daemon
