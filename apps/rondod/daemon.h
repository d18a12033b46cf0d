// Daemon: creates rondod's parts in the order of their dependencies, and runs them: start, serve, drain, end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/log.h"
#include "commands/recent_log.h"
#include "dataplane/netlink/network_namespace.h"
#include "dataplane/netlink/plane_lock.h"
#include "managers/managers.h"
#include "rondo/commands/service.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/simulated.h"
#include "rondo/journal/journal.h"
#include "rondo/orch/runtime.h"
#include "rondod/commands/commands.h"
#include "rondod/configuration/config.h"
#include "rondod/fpm/fpm_feed.h"
#include "rondod/http/front.h"
#include "rondod/jobs/job_service.h"
#include "rondod/logs/event_log.h"
#include "rondod/logs/write_log.h"
#include "rondod/managers/state_db.h"
#include "rondod/stores/direct.h"
#include "rondod/stores/placement.h"
#include "rondod/stores/redis_watch.h"
#include "switch_agent/agent.h"
#include "switch_agent/resources.h"

namespace rondo::daemon {

class Daemon {
 public:
  /// Opens everything: journal, data plane, agent, admin socket. The Status names the part that failed.
  /// 'kept' has the newest lines of 'log'. Both must outlive the daemon.
  static Result<std::unique_ptr<Daemon>> open(const Config& config, Log& log, const RecentLog& kept);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  /// Runs as Service::run() does. SIGHUP also reads the policy, the log level, the password files and the certificate again.
  Status run();
  /// True after run() of a standby whose namespace has become free: the caller destroys this object and opens another one, which reads what
  /// the last process left there and consumes the tables.
  bool takes_over() const noexcept { return takes_over_ && !service_->has_signal(); }
  /// The configuration in force.
  const Config& config() const noexcept { return config_; }

 private:
  /// How often a standby tries to get the lock of its namespace.
  static constexpr Duration kTakeOver = 100ms;
  static constexpr Duration kHealth = 1s;

  Daemon(const Config& config, Log& log, const RecentLog& kept);
  Status check_socket();
  Status open_plane();
  /// Prevents a second rondod from managing the same objects of the kernel.
  Status lock_plane();
  Status open_runtime();
  Status open_agent();
  void open_resources();
  Status open_managers();
  Status open_neighbors();
  Status open_front();
  Status open_jobs();
  StoreHooks store_hooks();
  Status declare_tables();
  Status begin_journal();
  Status add_commands();
  Status open_admin();
  Result<ServiceOptions> service_options();
  StandardCommandsOptions command_options();
  /// Logs that rondod serves. Returns the state for the service manager.
  std::string report_start();
  /// Runs last: the agent and the jobs take over what an earlier run left, so the socket must have shown that no other rondod serves.
  Status start_work();
  Status start_agent();
  Status open_fpm();
  void report_audit(const switch_agent::AuditResult& result, std::span<const switch_agent::Drift> drifts);
  void read_config_again();
  void read_passwords_again();
  void change_policy(const PolicyChoice& choice);
  void warn_of_policy();
  bool is_drained() const;
  /// As a standby: ends this run when the lock of the namespace is free.
  void try_to_take_over();
  /// Logs the reading of the standing rows, what the switch reports, and rows that direct tables dropped.
  void watch_store();
  /// Logs why the journal loses records, when the reason changes.
  void watch_journal();
  void watch_jobs();
  void watch_namespace();
  bool has_damage() const;
  void hold_after_damage();
  bool rows_have_come() const;
  void report_standing_rows(const std::vector<ConsumerStats>& consumers);

  Config config_;  // The configuration in force. Only the policy and the log level change, see reload().
  Log& log_;
  WriteLog writes_{log_};
  EventLog events_{
      log_, [this](std::string_view port) { return agent_ != nullptr && agent_->ports().state_of(port).state != PlaneState::Unknown; }};
  const RecentLog& kept_;
  Status feed_trouble_;                             // The newest trouble.
  std::uint64_t feed_troubles_ = 0;                 // Troubles not logged yet.
  std::vector<std::unique_ptr<DirectFeed>> feeds_;  // The direct feeds of the store.
  std::string plane_holder_;                        // As a standby, the process that programs our namespace; empty: this one does.
  bool takes_over_ = false;
  RedisWatch redis_{log_, [this](Status why) { service_->end(std::move(why)); }, [this] { return plane_holder_; }};
  std::vector<std::unique_ptr<TableFile>> files_;  // The files of the store.
  netlink::PlaneLock plane_lock_;                  // Must outlive the parts that program the data plane.
  std::unique_ptr<DataPlane> plane_;
  std::optional<netlink::NetworkNamespace> namespace_;  // Namespace of the data plane; empty if this process programs none.
  SimDataPlane* simulated_ = nullptr;
  std::unique_ptr<Runtime> runtime_;
  Journal* journal_ = nullptr;                          // Owned by the runtime; null without a file.
  std::unique_ptr<switch_agent::SwitchAgent> agent_;    // Null without a data plane, as plane_.
  std::unique_ptr<switch_agent::Resources> resources_;  // Null without a data plane.
  std::unique_ptr<managers::Managers> managers_;        // Null unless they are enabled.
  std::unique_ptr<StateDb> state_db_;                   // Null unless [managers] state_db names it.
  std::unique_ptr<NeighborFeed> neighbors_;             // Null unless [dataplane] learn_neighbors is set.
  std::unique_ptr<Front> front_;                        // Null unless [http] is enabled.
  std::unique_ptr<JobService> jobs_;                    // Null if this rondod runs no jobs.
  std::unique_ptr<FpmFeed> fpm_;                        // Null unless it is enabled.
  CommandRegistry registry_;
  std::shared_ptr<CommandContext> context_;  // For the daemon's own commands.
  std::unique_ptr<Service> service_;
  std::unique_ptr<TimerSource> health_timer_;
  std::unique_ptr<TimerSource> standby_timer_;
  Status journal_trouble_;
  std::uint64_t journal_dropped_ = 0;  // Already logged.
  std::uint64_t journal_errors_ = 0;   // Already logged.
  bool standing_rows_reported_ = false;
  Instant held_until_;  // After damage to a file: until when objects of an earlier run stay.
};

}  // namespace rondo::daemon
