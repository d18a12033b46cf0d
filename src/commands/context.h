// Context: the state that the standard commands share. StandardCommands owns it. Scheduler thread.
#pragma once

#include <memory>

#include "commands/command_adder.h"
#include "commands/mishaps.h"
#include "commands/row_waits.h"
#include "commands/watchers.h"
#include "commands/write_failures.h"
#include "rondo/admin/server.h"
#include "rondo/commands/standard_commands.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/timer.h"

namespace rondo::commands {

struct Context : std::enable_shared_from_this<Context> {
  Context(CommandRegistry& commands, Runtime& of, StandardCommandsOptions given);

  CommandRegistry& registry;
  Runtime& runtime;
  const StandardCommandsOptions options;
  const Instant started;
  WriteFailures failures;
  Mishaps mishaps;
  Watchers watchers;
  RowWaits waits;
  TimerSource timer;                    // Calls mishaps.look() every second, so that the time of a mishap is right.
  std::unique_ptr<AdminServer> server;  // Ends first: its connections use the members above.
};

using StandardAdder = CommandAdder<Context>;

void add_row_commands(StandardAdder& commands);      // set, del, get, keys, show, tables.
void add_why_commands(StandardAdder& commands);      // why, parked.
void add_figure_commands(StandardAdder& commands);   // sources, stats, top.
void add_watch_commands(StandardAdder& commands);    // watch, trace.
void add_support_commands(StandardAdder& commands);  // health, log.
void add_limits_command(StandardAdder& commands);

}  // namespace rondo::commands
