// Daemon: rondod's parts, put together in the order in which they depend on each other, and its life: start, serve, drain, end.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "rondo/base/log.h"
#include "rondo/commands/log_keeper.h"
#include "rondo/commands/standard_commands.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/simulated.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/stall_watchdog.h"
#include "rondod/commands.h"
#include "rondod/config.h"
#include "rondod/direct_maker.h"
#include "rondod/event_log.h"
#include "rondod/leftovers.h"
#include "rondod/plane_lock.h"
#include "rondod/redis_watch.h"
#include "rondod/signals.h"
#include "rondod/stores.h"
#include "rondod/write_log.h"
#include "switch_agent/agent.h"

namespace rondo::daemon {

class Daemon {
 public:
  /// Opens everything: journal, data plane, agent, admin socket. The Status names what failed.
  /// 'kept' has the newest lines of 'log'. Both outlive the daemon.
  static Result<std::unique_ptr<Daemon>> open(const Config& config, Log& log, const LogKeeper& kept);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  /// Serves until SIGTERM or SIGINT: then takes no more requests, finishes what was accepted (for at most limits::kDaemonDrain; a second
  /// signal ends at once) and returns. SIGHUP reopens the journal's file and reads the policy, the log's level and password files again.
  /// DataLoss: what was accepted is lost (leftovers.h), or in no file.
  Status run();

 private:
  static constexpr Duration kHealth = 1s;

  Daemon(const Config& config, Log& log, const LogKeeper& kept);
  Status check_socket();
  Status open_plane();
  /// Keeps a second rondod off the same objects of the kernel.
  Status lock_plane();
  Status open_runtime();
  StoreHooks store_hooks();
  void tell_long_turn(const LongTurn& turn);
  Status open_watchdog();
  void tell_stall(const Stall& stall);
  /// Each table of a group must be somebody's.
  Status check_groups() const;
  Status open_admin();
  void tell_notice(const AdminNotice& notice);
  StandardCommandsOptions command_options();
  /// Last: it takes over what an earlier run left, so the socket must have shown that no other rondod serves.
  Status start_agent();
  void tell_audit(const switch_agent::AuditResult& result, std::span<const switch_agent::Drift> drifts);
  void on_signal(int signal);
  /// SIGHUP: takes what can change while it serves, and names what needs a restart.
  void reload();
  void read_config_again();
  void read_passwords_again();
  void change_policy(const PolicyChoice& choice);
  void warn_of_policy();
  /// Another rondod has our tables: ends without the patience of a drain.
  void give_way(Status why);
  void drain();
  /// Logs that the store went away or came back, that the standing rows were read, that writes failed, and what direct tables dropped.
  void watch_store();
  /// Logs why the journal loses records, when that changes.
  void watch_journal();
  bool has_damage() const;
  void hold_after_damage();
  bool rows_have_come() const;
  void tell_standing_rows();
  bool is_drained() const;
  /// Logs those of stores that do not answer.
  Leftovers leftovers() const;
  /// Writes what the files of the tables lack; logs and tells what cannot be written.
  Status finish_files();

  Config config_;  // In force. Of it only the policy and the log's level change, see reload().
  Log& log_;
  WriteLog writes_{log_};
  EventLog events_{log_, [this](std::string_view port) { return agent_->ports().state_of(port).state != PlaneState::Unknown; }};
  const LogKeeper& kept_;
  std::uint64_t failures_told_ = 0;
  std::uint64_t rescues_told_ = 0;
  Status feed_trouble_;                             // The newest.
  std::uint64_t feed_troubles_ = 0;                 // Not logged yet.
  std::vector<std::unique_ptr<DirectFeed>> feeds_;  // Of the store.
  RedisWatch redis_{log_, [this](Status why) { give_way(std::move(why)); }};
  Status gave_way_;                                // Why.
  bool gives_back_ = false;                        // It is drained, and its leases are given back.
  std::vector<std::unique_ptr<TableFile>> files_;  // Of the store.
  PlaneLock plane_lock_;                           // Outlives what programs.
  std::unique_ptr<DataPlane> plane_;
  SimDataPlane* simulated_ = nullptr;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<switch_agent::Agent> agent_;
  CommandRegistry registry_;
  std::shared_ptr<CommandContext> context_;  // Of the daemon's own commands.
  std::unique_ptr<StandardCommands> commands_;
  std::unique_ptr<Signals> signals_;
  std::unique_ptr<TimerSource> drain_timer_;
  std::unique_ptr<TimerSource> health_timer_;
  Status store_trouble_;
  Status journal_trouble_;
  std::uint64_t journal_dropped_ = 0;  // Told.
  bool standing_rows_told_ = false;
  Instant drain_until_;
  Instant held_until_;  // Of what an earlier run left, after a file was damaged.
  std::unique_ptr<StallWatchdog> watchdog_;
};

}  // namespace rondo::daemon
