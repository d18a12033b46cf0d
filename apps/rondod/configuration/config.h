// Config: the content of rondod's TOML file. Every option has a default; packaging/rondod.toml lists and explains all of them. An unknown
// key or a wrong value is an error that names file, line and the nearest known key.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bounded_file.h"
#include "base/log.h"
#include "rondo/base/limits.h"
#include "rondo/base/result.h"
#include "rondo/sched/policy.h"
#include "rondod/configuration/executors_choice.h"
#include "rondod/configuration/notify_choice.h"
#include "rondod/configuration/simulated_choice.h"
#include "switch_agent/resources.h"

namespace rondo::daemon {

/// What a rondod does if another one consumes its tables on a Redis.
enum class Standby : std::uint8_t { Wait, Refuse };

/// Where tables are, and their format there. Groups with the same place share a store.
struct StorePlace {
  std::string url = {};  // See parse_redis_address; empty: the embedded store.
  std::string separator = ":";
  unsigned replicas = 0;
  std::int64_t replicas_timeout_ms = 1000;
  std::int64_t lease_ms = 10'000;  // 0: none.
  Standby standby = Standby::Wait;
  bool notify_each_key = false;
  friend auto operator<=>(const StorePlace&, const StorePlace&) = default;
};

/// A socket on which other processes write tables directly into rondod: [store.group.direct].
struct DirectSettings {
  std::string endpoint = {};  // See ZmqServerOptions.
  std::string database = "APPL_DB";
  /// CURVE: the file whose first line is the server's secret key, and the public keys of the permitted clients.
  std::string secret_key_file = {};
  std::vector<std::string> allowed_clients = {};
  bool open_to_network = false;
  std::int64_t connections = 256;
  std::int64_t connections_per_address = 128;
  friend bool operator==(const DirectSettings&, const DirectSettings&) = default;
};

/// Tables in a store of their own.
struct StoreGroup {
  std::vector<std::string> tables = {};
  StorePlace place = {};
  std::optional<DirectSettings> direct = {};
  friend bool operator==(const StoreGroup&, const StoreGroup&) = default;
};

/// The scheduling policy: [scheduler]. Times in microseconds; 0 in 'budgets_us': no budget.
struct PolicyChoice {
  PolicySettings::Name name = PolicySettings::Name::Frames;
  Tie tie = Tie::LeastRecentlyServed;
  std::uint32_t batch = limits::kBatchItems;
  std::int64_t turn_us = limits::kTurnTime / 1us;
  std::int64_t lowest_budget_us = BudgetedFrames{}.lowest / 1us;
  std::int64_t highest_budget_us = BudgetedFrames{}.highest / 1us;
  std::vector<std::pair<unsigned, std::int64_t>> budgets_us = {};  // By priority, ascending.
  std::uint32_t quota = QuotedRoundRobin{}.quota;
  QuotaUnit quota_unit = QuotaUnit::Items;
  std::vector<std::pair<unsigned, std::int64_t>> quotas = {};
  friend bool operator==(const PolicyChoice&, const PolicyChoice&) = default;

  PolicyOptions options() const;
};

/// What rondod programs. None: nothing, for an installation that only schedules jobs.
enum class PlaneKind : std::uint8_t { Linux, Simulated, None };

/// The job scheduler: [jobs]. See JobsOptions.
struct JobSettings {
  bool enabled = false;
  std::string store = "/var/lib/rondo/jobs.db";  // A file, or the URL of a server.
  bool is_at_server() const { return store.starts_with("postgresql://") || store.starts_with("mariadb://"); }
  bool sync = false;
  std::int64_t window_ms = 5000;
  std::int64_t grace_ms = 10'000;
  std::int64_t cycle_ms = 1000;
  unsigned fast_threads = 8;
  std::size_t fast_runs = 16;
  unsigned slow_threads = 4;
  std::size_t slow_runs = 8;
  std::int64_t slow_run_ms = 500;
  unsigned slow_runs_per_minute = 10;
  std::int64_t kept_days = 30;
  std::size_t kept_runs = 10'000;  // Runs of each job. 0: no bound.
};

/// The FPM server, to which zebra sends its routes: [fpm].
struct FpmChoice {
  bool enabled = false;
  std::string address = "127.0.0.1";
  std::uint16_t port = 2620;
  std::uint32_t table = 254;
  std::int64_t quiet_ms = 3000;
  std::int64_t wait_s = 120;
  bool plain_weights = false;  // [fpm] weights.
  bool offload_answers = false;
  std::vector<std::string> users = {"root", "frr"};  // Besides rondod's own. Empty: all.
  friend bool operator==(const FpmChoice&, const FpmChoice&) = default;
};

/// The managers, which make rows of APPL_DB from SONiC's CONFIG_DB: [managers].
struct ManagersChoice {
  bool enabled = false;
  std::string config_db = {};            // See StorePlace::url; empty: the tables of CONFIG_DB are where [store] and its groups say.
  std::string state_db = {};             // Empty: STATE_DB is not written.
  std::optional<StoreGroup> group = {};  // What config_db stands for.
  friend bool operator==(const ManagersChoice&, const ManagersChoice&) = default;
};

struct Config {
  std::string path = {};  // The file it was read from; empty: none.
  // [scheduler]
  PolicyChoice policy;
  std::uint32_t retry_quota = 0;
  int nice = -20;
  std::vector<unsigned> scheduler_cpus;
  std::size_t reserve_mib = 0;
  std::int64_t stall_ms = 1000;
  bool stall_stack = false;
  // [admin]
  std::string socket = "/run/rondo/rondod.sock";
  bool socket_given = false;  // The command line gave it, which overrides the file.
  std::string read_group;
  // [log]
  LogLevel log_level = LogLevel::Info;
  // [journal]
  std::string journal_file;
  std::int64_t journal_file_mib = 256;
  unsigned journal_files = 4;
  // [store]
  StorePlace store;
  std::vector<StoreGroup> store_groups;
  // [jobs], [http] and [executors]
  JobSettings jobs;
  HttpChoice http;
  ExecutorsChoice executors;
  std::vector<NotifyChoice> notify;  // [[notify]]
  // [dataplane]
  PlaneKind plane = PlaneKind::Linux;
  std::string network_namespace;
  std::uint8_t protocol = 201;
  std::uint32_t metric = 201;
  std::size_t batch = 256;
  std::uint32_t table = 254;
  std::int64_t hold_s = 0;
  double safety_share = 0.2;
  std::int64_t safety_least = 100;
  std::int64_t safety_wait_s = 0;
  std::int64_t audit_s = 300;
  bool repairs_drift = true;  // [dataplane] on_drift.
  bool learn_neighbors = false;
  bool detect_duplicates = true;
  std::vector<std::string> simulated_ports;
  std::vector<unsigned> dataplane_cpus;
  FpmChoice fpm;
  ManagersChoice managers;
  switch_agent::ResourceOptions resources;  // [resources]
  SimulatedChoice simulated;
};

/// A database that has SONiC's separator of CONFIG_DB and STATE_DB.
StorePlace sonic_place(const std::string& url);
/// The groups of [store] and ManagersChoice::group.
std::vector<StoreGroup> all_groups(const Config& config);

/// Reads 'path'. InvalidArgument names file, line, key and the permitted values; otherwise NotFound or the error of reading.
/// 'pipes': a pipe can be read once, so a reload refuses it.
Result<Config> read_config(const std::string& path, Pipes pipes = Pipes::Read);
/// Parses text; 'name' is the name of the file in messages.
Result<Config> parse_config(std::string_view text, const std::string& name);
/// Returns the names of the settings that differ, such as "admin.socket", in alphabetical order.
std::vector<std::string> differences(const Config& one, const Config& other);
/// InvalidArgument if no socket can have this path.
Status check_socket_path(const std::string& path);
/// Returns the whole configuration as TOML, including defaults: the output of --check-config.
std::string to_toml(const Config& config);
/// Returns the same as a JSON object of sections.
std::string to_json(const Config& config);

}  // namespace rondo::daemon
