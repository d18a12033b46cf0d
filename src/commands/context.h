// Context: the state that the standard commands share. StandardCommands owns it. Scheduler thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "admin/server.h"
#include "commands/command_adder.h"
#include "commands/incidents.h"
#include "commands/row_waits.h"
#include "commands/watchers.h"
#include "commands/write_failures.h"
#include "rondo/commands/standard_commands.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/timer.h"

namespace rondo::commands {

struct HistoryReader;  // history_commands.cc

struct Context : std::enable_shared_from_this<Context> {
  Context(CommandRegistry& commands, Runtime& of, StandardCommandsOptions given);
  ~Context();

  CanonicalKey canonical_key_of(std::string_view table) const { return options.canonical_key ? options.canonical_key(table) : nullptr; }
  RowClaim claim_of(std::string_view table, std::string_view key) const {
    return options.claim_of ? options.claim_of(table, key) : RowClaim{};
  }
  /// The process for which this one stands by; empty if it consumes its tables.
  std::string standby_for() const {
    std::string of_store = runtime.store().report().standby_for;
    return of_store.empty() && options.standby_for ? options.standby_for() : of_store;
  }
  /// Calls 'use' with the key of the row that 'key' denotes: 'key' itself if the store has such a row, otherwise its canonical spelling.
  /// If the store is remote and 'key' has another spelling, the call is asynchronous; otherwise it happens before the return. 'use' answers
  /// 'reply'.
  void with_key(const std::string& table, const std::string& key, const Reply& reply, std::function<void(const std::string& key)> use);
  void check();

  CommandRegistry& registry;
  Runtime& runtime;
  const StandardCommandsOptions options;
  const Instant started;
  WriteFailures failures;
  Incidents incidents;
  Watchers watchers;
  RowWaits waits;
  // See AdminServerSetup. Service and rondod set them.
  std::function<void(const AdminWrite&)> on_write;
  std::function<void(const AdminNotice&)> on_notice;
  std::shared_ptr<HistoryReader> history;  // From the first call on.
  TimerSource timer;                       // Calls check() every second, so that an incident's time is correct.
  std::unique_ptr<AdminServer> server;     // Destroyed first: its connections use the members above.
};

using StandardAdder = CommandAdder<Context>;

/// For programs of this repository.
Context& context_of(StandardCommands& commands) noexcept;

void add_row_commands(StandardAdder& commands);      // get, keys, show, tables.
void add_write_commands(StandardAdder& commands);    // set, del.
void add_batch_command(StandardAdder& commands);     // write.
void add_why_commands(StandardAdder& commands);      // why, parked.
void add_figure_commands(StandardAdder& commands);   // sources, stats, top.
void add_watch_commands(StandardAdder& commands);    // watch, trace.
void add_turn_commands(StandardAdder& commands);     // turns.
void add_support_commands(StandardAdder& commands);  // health, log.
void add_history_command(StandardAdder& commands);   // history.

/// Ends the record of turns if no caller has asked for it in limits::kTurnRecordKept.
void end_unread_turns(Scheduler& scheduler, Instant now);

}  // namespace rondo::commands
