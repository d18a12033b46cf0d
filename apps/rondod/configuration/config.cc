#include "rondod/configuration/config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include <toml++/toml.h>

#include "admin/suggest.h"
#include "admin/unix_socket.h"
#include "base/bounded_file.h"
#include "base/toml_nesting.h"
#include "managers/managers.h"
#include "rondo/base/limits.h"
#include "rondo/dataplane/ip.h"
#include "rondo/dataplane/limits.h"
#include "rondo/journal/limits.h"
#include "rondo/store/redis_limits.h"
#include "rondo/store/redis_store.h"
#include "rondod/configuration/executors_section.h"
#include "rondod/configuration/notify_section.h"
#include "rondod/configuration/protocols.h"
#include "rondod/configuration/section_reader.h"
#include "rondod/configuration/simulated_section.h"
#include "rondod/configuration/user_names.h"
#include "rondod/limits.h"
#include "rondod/stores/placement.h"
#include "rondod/stores/registry.h"

namespace rondo::daemon {

namespace {

using PolicyName = PolicySettings::Name;
constexpr std::array<std::pair<std::string_view, PolicyName>, 4> kPolicies{{{"frames", PolicyName::Frames},
                                                                            {"strict", PolicyName::Strict},
                                                                            {"strictly-ordered", PolicyName::StrictlyOrdered},
                                                                            {"quoted-round-robin", PolicyName::QuotedRoundRobin}}};
constexpr std::array<std::pair<std::string_view, Tie>, 3> kTies{
    {{"least-recently-served", Tie::LeastRecentlyServed}, {"arrival", Tie::Arrival}, {"consumed-time", Tie::ConsumedTime}}};
constexpr std::array<std::pair<std::string_view, QuotaUnit>, 2> kQuotaUnits{
    {{"items", QuotaUnit::Items}, {"microseconds", QuotaUnit::Microseconds}}};
constexpr std::int64_t kBudgetUs = limits::kBudgetMost / 1us;
constexpr std::array<std::pair<std::string_view, LogLevel>, 5> kLevels{
    {{"debug", LogLevel::Debug}, {"info", LogLevel::Info}, {"warn", LogLevel::Warn}, {"error", LogLevel::Error}, {"off", LogLevel::Off}}};
constexpr std::array<std::pair<std::string_view, PlaneKind>, 3> kKinds{
    {{"linux", PlaneKind::Linux}, {"simulated", PlaneKind::Simulated}, {"none", PlaneKind::None}}};
constexpr std::array<std::pair<std::string_view, bool>, 2> kOnDrift{{{"repair", true}, {"report", false}}};
constexpr std::array<std::pair<std::string_view, bool>, 2> kWeights{{{"minus-one", false}, {"plain", true}}};
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kSeparators{{{":", ":"}, {"|", "|"}}};
constexpr std::array<std::pair<std::string_view, Standby>, 2> kStandbys{{{"wait", Standby::Wait}, {"refuse", Standby::Refuse}}};
constexpr std::int64_t kLeaseLeast = kShortestRedisLease / std::chrono::milliseconds{1};
constexpr std::int64_t kLeaseMost = 3'600'000;

void read_separator(SectionReader& section, std::string& value) {
  std::string_view separator = value;
  section.choice("separator", kSeparators, separator);
  value = std::string{separator};
}

void read_place(SectionReader& section, StorePlace& place) {
  section.store_url("url", place.url);
  read_separator(section, place.separator);
  section.integer("replicas", 0, limits::kRedisReplicas, place.replicas);
  section.integer("replicas_timeout_ms", 1, limits::kRedisReplicasWait / std::chrono::milliseconds{1}, place.replicas_timeout_ms);
  section.integer("lease_ms", 0, kLeaseMost, place.lease_ms);
  section.choice("standby", kStandbys, place.standby);
  section.flag("notify_each_key", place.notify_each_key);
  if (place.lease_ms != 0 && place.lease_ms < kLeaseLeast) {
    section.complain("lease_ms", "must be 0, for none, or at least " + std::to_string(kLeaseLeast));
  }
  if (is_remote(place.url)) return;
  const StorePlace none;
  const std::string_view set = place.replicas != none.replicas                         ? "replicas"
                               : place.replicas_timeout_ms != none.replicas_timeout_ms ? "replicas_timeout_ms"
                               : place.lease_ms != none.lease_ms                       ? "lease_ms"
                               : place.standby != none.standby                         ? "standby"
                               : place.notify_each_key                                 ? "notify_each_key"
                                                                                       : "";
  if (set.starts_with("replicas")) section.complain(set, "is for tables on a Redis: the embedded store has no replicas");
  if (!set.empty()) section.complain(set, "is for tables on a Redis");
}

/// Parses [scheduler.KEY]: lines of PRIORITY = VALUE.
void read_priorities(SectionReader& s, std::string_view key, std::int64_t low, std::int64_t high,
                     std::vector<std::pair<unsigned, std::int64_t>>& values) {
  const toml::table* const given = s.subsection(key);
  if (given == nullptr) return;
  for (const auto& [name, node] : *given) {
    const std::string text{name.str()};
    unsigned priority = limits::kPriorities;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), priority);
    const bool is_priority = error == std::errc{} && end == text.data() + text.size() && priority < limits::kPriorities;
    const auto* const value = node.as_integer();
    if (!is_priority) {
      s.complain(key, node.source(), "has '" + text + "', which is no priority from 0 to " + std::to_string(limits::kPriorities - 1));
    } else if (value == nullptr || value->get() < low || value->get() > high) {
      s.complain(key, node.source(),
                 "of priority " + text + " must be an integer from " + std::to_string(low) + " to " + std::to_string(high));
    } else {
      values.emplace_back(priority, value->get());
    }
  }
  std::ranges::sort(values);
}

/// Refuses SObjectizer's name for the policy, and ours.
void refuse_thread_per_priority(SectionReader& s) {
  for (const std::string_view name : {"one_per_prio", "one-per-priority"}) {
    if (!s.says("policy", name)) continue;
    s.complain("policy",
               "cannot be '" + std::string{name} +
                   "': the tables of a switch share one programmer of the kernel, numbers of ports and groups, and a journal, which "
                   "belong to one thread. A program of your own can have a thread for each priority: rondo/orch/priority_workers.h");
  }
}

void read_policy(SectionReader& s, PolicyChoice& policy) {
  refuse_thread_per_priority(s);
  s.choice("policy", kPolicies, policy.name);
  s.choice("tie", kTies, policy.tie);
  s.integer("batch", 1, limits::kBatchItems, policy.batch);
  s.integer("turn_us", 10, limits::kTurnTimeMost / 1us, policy.turn_us);
  // The range of each fits the default of the other; their relation is checked below.
  s.integer("lowest_budget_us", 1, PolicyChoice{}.highest_budget_us, policy.lowest_budget_us);
  s.integer("highest_budget_us", PolicyChoice{}.lowest_budget_us, kBudgetUs, policy.highest_budget_us);
  read_priorities(s, "budgets_us", 0, kBudgetUs, policy.budgets_us);
  s.integer("quota", 1, limits::kQuotaMost, policy.quota);
  s.choice("quota_unit", kQuotaUnits, policy.quota_unit);
  read_priorities(s, "quotas", 1, limits::kQuotaMost, policy.quotas);
  const bool by_arrival = policy.name == PolicyName::StrictlyOrdered || policy.name == PolicyName::QuotedRoundRobin;
  if (by_arrival && policy.tie != PolicyChoice{}.tie && policy.tie != Tie::Arrival) {
    s.complain("tie", "cannot be chosen for this policy: it goes by arrival");
  }
  if (const auto settings = resolve_policy(policy.options()); !settings) {
    s.complain("policy", "cannot be used: " + std::string{settings.error().message()});
  }
}

/// More connections than a daemon has feeders, and fewer descriptors than the unit file allows.
constexpr std::int64_t kDirectConnectionsMost = 8192;

void read_direct(const toml::table& table, const std::string& file, Status& error, DirectSettings& direct) {
  SectionReader s{&table, "store.group.direct", file, error};
  s.text("endpoint", direct.endpoint);
  s.text("database", direct.database);
  s.text("secret_key_file", direct.secret_key_file);
  s.texts("allowed_clients", direct.allowed_clients);
  s.flag("open_to_network", direct.open_to_network);
  s.integer("connections", 1, kDirectConnectionsMost, direct.connections);
  s.integer("connections_per_address", 1, kDirectConnectionsMost, direct.connections_per_address);
}

/// Only one process at a time may open a file, and this one may open it once. Equal places share a store; direct tables never do.
void check_files(SectionReader& group, const Config& config) {
  const StoreGroup& newest = config.store_groups.back();
  const std::optional<std::string> file = table_file(newest.place.url);
  if (!file) return;
  const auto clashes = [&](const StorePlace& place, bool shares) {
    return table_file(place.url) == file && !(shares && place == newest.place);
  };
  bool taken = clashes(config.store, !newest.direct);
  for (std::size_t i = 0; i + 1 < config.store_groups.size(); ++i) {
    const StoreGroup& other = config.store_groups[i];
    taken = taken || clashes(other.place, !newest.direct && !other.direct);
  }
  if (!taken) return;
  group.complain("url", "names the file " + *file + ", which another store has already: " +
                            (newest.direct ? "direct tables need a file of their own" : "one file, one address with the same options"));
}

void read_store(const toml::table* table, const std::string& file, Status& error, Config& config) {
  SectionReader s{table, "store", file, error};
  read_place(s, config.store);
  std::set<std::string> routed;
  std::set<std::string> endpoints;
  for (const toml::table* const group : s.groups("group")) {
    SectionReader g{group, "store.group", file, error};
    StoreGroup& read = config.store_groups.emplace_back();
    g.texts("tables", read.tables);
    read_place(g, read.place);
    if (read.tables.empty()) g.complain("tables", "must name the tables that are in this store");
    if (const toml::table* const direct = g.subsection("direct")) {
      read_direct(*direct, file, error, read.direct.emplace());
      if (read.direct->endpoint.empty()) {
        g.complain("direct", "has no endpoint: where producers connect, such as \"tcp://127.0.0.1:8100\"");
      } else if (Status bad = check_direct(*read.direct); !bad.ok()) {
        g.complain("direct", "cannot be used: " + std::string{bad.message()});
      } else if (!endpoints.insert(read.direct->endpoint).second) {
        g.complain("direct", "has an endpoint that another group has");
      }
    }
    check_files(g, config);
    for (const std::string& name : read.tables) {
      if (!routed.insert(name).second) g.complain("tables", "names '" + name + "', which is in a store already");
    }
  }
}

/// True for a URL with "user:password@".
bool has_password(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return false;
  const std::string_view user = url.substr(scheme + 3, url.find_first_of("@/?", scheme + 3) - scheme - 3);
  return url.find('@') != std::string_view::npos && user.find(':') != std::string_view::npos;
}

/// The range of each fits the defaults of the others; their relations are checked below.
void read_jobs(SectionReader s, JobSettings& jobs) {
  s.flag("enabled", jobs.enabled);
  s.text("store", jobs.store);
  s.flag("sync", jobs.sync);
  s.integer("window_ms", 2000, 10'000, jobs.window_ms);
  s.integer("grace_ms", 5000, 86'400'000, jobs.grace_ms);
  s.integer("cycle_ms", 10, 2500, jobs.cycle_ms);
  s.integer("fast_threads", 1, limits::kExecutorThreads, jobs.fast_threads);
  s.integer("fast_runs", 1, 10'000, jobs.fast_runs);
  s.integer("slow_threads", 1, limits::kExecutorThreads, jobs.slow_threads);
  s.integer("slow_runs", 1, 10'000, jobs.slow_runs);
  s.integer("slow_run_ms", 1, 3'600'000, jobs.slow_run_ms);
  s.integer("slow_runs_per_minute", 1, 1'000'000, jobs.slow_runs_per_minute);
  s.integer("kept_days", 1, 36'500, jobs.kept_days);
  s.integer("kept_runs", 0, 1'000'000'000, jobs.kept_runs);
  if (jobs.store.empty()) s.complain("store", "must name the database");
  if (has_password(jobs.store)) s.complain("store", "holds a password, which --check-config would print: write ?passfile=FILE");
  if (jobs.grace_ms < jobs.window_ms) s.complain("grace_ms", "must be at least window_ms, " + std::to_string(jobs.window_ms));
  if (jobs.cycle_ms * 2 > jobs.window_ms) {
    s.complain("cycle_ms", "must be at most half of window_ms, " + std::to_string(jobs.window_ms / 2));
  }
}

template <std::size_t N, class Value>
std::string_view name_of(const std::array<std::pair<std::string_view, Value>, N>& choices, Value value) {
  return std::ranges::find(choices, value, &std::pair<std::string_view, Value>::second)->first;
}

constexpr std::int64_t kObjectsMost = 1'000'000'000;  // More objects than any data plane has.
constexpr std::int64_t kSafetyWaitMost = 365 * 24 * 3600;

void read_fpm(const toml::table* table, const std::string& file, Status& error, bool has_plane, FpmChoice& fpm) {
  SectionReader s{table, "fpm", file, error};
  s.flag("enabled", fpm.enabled);
  if (fpm.enabled && !has_plane) s.complain("enabled", "needs a data plane: [dataplane] kind is \"none\"");
  s.text("address", fpm.address);
  if (const auto address = IpAddress::parse(fpm.address); !address) {
    s.complain("address", "cannot be used: " + std::string{address.error().message()});
  }
  s.integer("port", 1, 65535, fpm.port);
  s.integer("table", 1, 0xFFFFFFFF, fpm.table);
  s.integer("quiet_ms", 100, 600'000, fpm.quiet_ms);
  s.integer("wait_s", 0, limits::kRestartHold, fpm.wait_s);
  s.choice("weights", kWeights, fpm.plain_weights);
  s.flag("offload_answers", fpm.offload_answers);
  s.texts("users", fpm.users);
}

void read_managers(const toml::table* table, const std::string& file, Status& error, Config& config) {
  SectionReader s{table, "managers", file, error};
  ManagersChoice& managers = config.managers;
  s.flag("enabled", managers.enabled);
  if (managers.enabled && config.plane == PlaneKind::None) s.complain("enabled", "needs a data plane: [dataplane] kind is \"none\"");
  for (const auto& [key, url] : {std::pair{"config_db", &managers.config_db}, std::pair{"state_db", &managers.state_db}}) {
    s.store_url(key, *url);
    if (!url->empty() && !is_remote(*url)) s.complain(key, "must be a database on a Redis");
  }
  if (!managers.enabled || managers.config_db.empty()) return;
  managers.group = StoreGroup{.tables = managers::config_tables(), .place = sonic_place(managers.config_db)};
  for (const StoreGroup& group : config.store_groups) {
    for (const std::string& name : managers::config_tables()) {
      if (std::ranges::find(group.tables, name) != group.tables.end())
        s.complain("config_db", "and a group of [store] both have the table " + name);
    }
  }
}

void read_resources(SectionReader s, switch_agent::ResourceOptions& resources) {
  for (std::size_t i = 0; i < resources.limits.size(); ++i) {
    s.integer(switch_agent::kResources[i].data(), 0, kObjectsMost, resources.limits[i]);
  }
  s.integer("high_percent", 1, 100, resources.high_percent);
  s.integer("low_percent", 0, 100, resources.low_percent);
  if (resources.low_percent > resources.high_percent) s.complain("low_percent", "is above high_percent");
}

void read_dataplane(SectionReader s, Config& config) {
  s.choice("kind", kKinds, config.plane);
  s.text("network_namespace", config.network_namespace);
  s.integer("protocol", 5, 255, config.protocol);
  s.complain_if("protocol", check_protocol(config.protocol));
  s.integer("metric", 1, 0xFFFFFFFF, config.metric);
  s.integer("batch", 1, limits::kNetlinkBatch, config.batch);
  s.integer("table", 1, 0xFFFFFFFF, config.table);
  s.complain_if("table", check_table(config.table));
  s.integer("hold_s", 0, limits::kRestartHold, config.hold_s);
  s.share("safety_share", config.safety_share);
  s.integer("safety_least", 1, kObjectsMost, config.safety_least);
  s.integer("safety_wait_s", 0, kSafetyWaitMost, config.safety_wait_s);
  s.integer("audit_s", 0, 86400, config.audit_s);
  s.choice("on_drift", kOnDrift, config.repairs_drift);
  s.flag("learn_neighbors", config.learn_neighbors);
  s.flag("detect_duplicates", config.detect_duplicates);
  if (config.learn_neighbors && config.plane != PlaneKind::Linux) s.complain("learn_neighbors", "needs kind = \"linux\"");
  read_simulated_ports(s, config.simulated_ports);
  s.cpus("cpus", config.dataplane_cpus);
}

Result<Config> from_table(const toml::table& root, const std::string& file) {
  Config config;
  Status error;
  constexpr std::array<std::string_view, 14> kSections{"scheduler", "admin",  "log",       "journal", "store",    "jobs",      "http",
                                                       "executors", "notify", "dataplane", "fpm",     "managers", "resources", "simulated"};
  for (const auto& [key, node] : root) {
    const std::string at = file + ":" + std::to_string(node.source().begin.line) + ": ";
    if (std::ranges::find(kSections, key.str()) == kSections.end()) {
      return failure(StatusCode::InvalidArgument,
                     at + "[" + std::string{key.str()} + "] is not a section" + did_you_mean(key.str(), kSections));
    }
    const bool is_list = key.str() == "notify";
    if (is_list && !node.is_array_of_tables()) return failure(StatusCode::InvalidArgument, at + "notify must be written as [[notify]]");
    if (!is_list && !node.is_table())
      return failure(StatusCode::InvalidArgument, at + "'" + std::string{key.str()} + "' must be a section");
  }
  const auto section = [&](const char* name) { return SectionReader{root[name].as_table(), name, file, error}; };
  {
    SectionReader s = section("scheduler");
    read_policy(s, config.policy);
    s.integer("retry_quota", 0, limits::kBatchItems, config.retry_quota);
    s.integer("nice", -20, 19, config.nice);
    s.cpus("cpus", config.scheduler_cpus);
    s.integer("reserve_mib", 0, limits::kReserveMibMost, config.reserve_mib);
    s.integer("stall_ms", 10, limits::kStallMost / 1ms, config.stall_ms);
    s.flag("stall_stack", config.stall_stack);
  }
  {
    SectionReader s = section("admin");
    s.text("socket", config.socket);
    s.text("read_group", config.read_group);
    if (const auto group = group_named(config.read_group); !config.read_group.empty() && !group) {
      s.complain("read_group", "cannot be used: " + std::string{group.error().message()});
    }
    if (Status bad = check_socket_path(config.socket); !bad.ok()) s.complain("socket", "cannot be used: " + std::string{bad.message()});
  }
  section("log").choice("level", kLevels, config.log_level);
  {
    SectionReader s = section("journal");
    s.text("file", config.journal_file);
    s.integer("file_mib", 0, limits::kJournalFileMib, config.journal_file_mib);
    s.integer("files", 0, limits::kJournalFiles, config.journal_files);
  }
  read_store(root["store"].as_table(), file, error, config);
  read_jobs(section("jobs"), config.jobs);
  read_http(root["http"].as_table(), file, error, config.http);
  read_executors(root["executors"].as_table(), file, error, config.http.enabled, config.jobs.enabled, config.executors);
  read_notify(root["notify"].as_array(), file, error, config.jobs.enabled, config.notify);
  read_dataplane(section("dataplane"), config);
  read_fpm(root["fpm"].as_table(), file, error, config.plane != PlaneKind::None, config.fpm);
  read_managers(root["managers"].as_table(), file, error, config);
  read_resources(section("resources"), config.resources);
  read_simulated(section("simulated"), config.simulated);
  if (!error.ok()) return failure(std::move(error));
  return config;
}

}  // namespace

StorePlace sonic_place(const std::string& url) { return {.url = url, .separator = "|"}; }

std::vector<StoreGroup> all_groups(const Config& config) {
  std::vector<StoreGroup> groups = config.store_groups;
  if (config.managers.group) groups.push_back(*config.managers.group);
  return groups;
}

Status check_socket_path(const std::string& path) {
  const Result<sockaddr_un> address = unix_address(path);
  return address ? Status{} : address.error();
}

Result<Config> parse_config(std::string_view text, const std::string& name) {
  if (Status nests = check_nesting(text, name); !nests.ok()) return failure(std::move(nests));
  try {
    return from_table(toml::parse(text, name), name);
  } catch (const toml::parse_error& error) {
    return failure(StatusCode::InvalidArgument,
                   name + ":" + std::to_string(error.source().begin.line) + ": " + std::string{error.description()});
  }
}

Result<Config> read_config(const std::string& path, Pipes pipes) {
  const Result<std::string> text = read_bounded_file(path, "the configuration", limits::kConfigBytes, pipes);
  if (!text) return failure(text.error());
  Result<Config> config = parse_config(*text, path);
  if (config) config->path = path;
  return config;
}

PolicyOptions PolicyChoice::options() const {
  const Duration turn = std::chrono::microseconds{turn_us};
  switch (name) {
    case PolicyName::Strict: return StrictPriority{.tie = tie, .batch = batch, .turn = turn};
    case PolicyName::StrictlyOrdered: return StrictlyOrdered{.batch = batch, .turn = turn};
    case PolicyName::QuotedRoundRobin: {
      QuotedRoundRobin quoted{.quota = quota, .unit = quota_unit, .batch = batch, .turn = turn};
      for (const auto& [priority, its] : quotas) quoted.set(Priority{priority}, static_cast<std::uint32_t>(its));
      return quoted;
    }
    case PolicyName::Frames: break;
  }
  BudgetedFrames frames{.lowest = std::chrono::microseconds{lowest_budget_us},
                        .highest = std::chrono::microseconds{highest_budget_us},
                        .tie = tie,
                        .batch = batch,
                        .turn = turn};
  for (const auto& [priority, its] : budgets_us) {
    frames.set(Priority{priority}, its == 0 ? kNoBudget : Duration{std::chrono::microseconds{its}});
  }
  return frames;
}

namespace {

toml::table place_table(const StorePlace& place) {
  return toml::table{{"url", place.url},
                     {"separator", place.separator},
                     {"replicas", static_cast<std::int64_t>(place.replicas)},
                     {"replicas_timeout_ms", place.replicas_timeout_ms},
                     {"lease_ms", place.lease_ms},
                     {"standby", name_of(kStandbys, place.standby)},
                     {"notify_each_key", place.notify_each_key}};
}

toml::table direct_table(const DirectSettings& direct) {
  toml::array clients;
  for (const std::string& key : direct.allowed_clients) clients.push_back(key);
  return toml::table{{"endpoint", direct.endpoint},
                     {"database", direct.database},
                     {"secret_key_file", direct.secret_key_file},
                     {"allowed_clients", clients},
                     {"open_to_network", direct.open_to_network},
                     {"connections", direct.connections},
                     {"connections_per_address", direct.connections_per_address}};
}

toml::table priorities_table(const std::vector<std::pair<unsigned, std::int64_t>>& values) {
  toml::table table;
  for (const auto& [priority, value] : values) table.insert(std::to_string(priority), value);
  return table;
}

toml::table scheduler_table(const Config& config) {
  toml::array cpus;
  for (const unsigned cpu : config.scheduler_cpus) cpus.push_back(static_cast<std::int64_t>(cpu));
  const PolicyChoice& policy = config.policy;
  toml::table table{{"policy", name_of(kPolicies, policy.name)},
                    {"tie", name_of(kTies, policy.tie)},
                    {"batch", static_cast<std::int64_t>(policy.batch)},
                    {"turn_us", policy.turn_us},
                    {"lowest_budget_us", policy.lowest_budget_us},
                    {"highest_budget_us", policy.highest_budget_us},
                    {"quota", static_cast<std::int64_t>(policy.quota)},
                    {"quota_unit", name_of(kQuotaUnits, policy.quota_unit)},
                    {"retry_quota", static_cast<std::int64_t>(config.retry_quota)},
                    {"nice", static_cast<std::int64_t>(config.nice)},
                    {"cpus", std::move(cpus)},
                    {"reserve_mib", static_cast<std::int64_t>(config.reserve_mib)},
                    {"stall_ms", config.stall_ms},
                    {"stall_stack", config.stall_stack}};
  if (!policy.budgets_us.empty()) table.insert("budgets_us", priorities_table(policy.budgets_us));
  if (!policy.quotas.empty()) table.insert("quotas", priorities_table(policy.quotas));
  return table;
}

toml::table store_table(const Config& config) {
  toml::table store = place_table(config.store);
  toml::array groups;
  for (const StoreGroup& group : config.store_groups) {
    toml::array tables;
    for (const std::string& name : group.tables) tables.push_back(name);
    toml::table written = place_table(group.place);
    written.insert("tables", std::move(tables));
    if (group.direct) written.insert("direct", direct_table(*group.direct));
    groups.push_back(std::move(written));
  }
  if (!groups.empty()) store.insert("group", groups);
  return store;
}

toml::table jobs_table(const JobSettings& jobs) {
  return toml::table{{"enabled", jobs.enabled},
                     {"store", jobs.store},
                     {"sync", jobs.sync},
                     {"window_ms", jobs.window_ms},
                     {"grace_ms", jobs.grace_ms},
                     {"cycle_ms", jobs.cycle_ms},
                     {"fast_threads", static_cast<std::int64_t>(jobs.fast_threads)},
                     {"fast_runs", static_cast<std::int64_t>(jobs.fast_runs)},
                     {"slow_threads", static_cast<std::int64_t>(jobs.slow_threads)},
                     {"slow_runs", static_cast<std::int64_t>(jobs.slow_runs)},
                     {"slow_run_ms", jobs.slow_run_ms},
                     {"slow_runs_per_minute", static_cast<std::int64_t>(jobs.slow_runs_per_minute)},
                     {"kept_days", jobs.kept_days},
                     {"kept_runs", static_cast<std::int64_t>(jobs.kept_runs)}};
}

toml::table resources_table(const switch_agent::ResourceOptions& resources) {
  toml::table table{{"high_percent", resources.high_percent}, {"low_percent", resources.low_percent}};
  for (std::size_t i = 0; i < resources.limits.size(); ++i) {
    table.insert(switch_agent::kResources[i], static_cast<std::int64_t>(resources.limits[i]));
  }
  return table;
}

toml::table to_table(const Config& config) {
  const auto texts = [](const std::vector<std::string>& values) {
    toml::array list;
    for (const std::string& value : values) list.push_back(value);
    return list;
  };
  const auto cpus = [](const std::vector<unsigned>& numbers) {
    toml::array list;
    for (const unsigned cpu : numbers) list.push_back(static_cast<std::int64_t>(cpu));
    return list;
  };
  toml::table table{
      {"scheduler", scheduler_table(config)},
      {"admin", toml::table{{"socket", config.socket}, {"read_group", config.read_group}}},
      {"log", toml::table{{"level", name_of(kLevels, config.log_level)}}},
      {"journal", toml::table{{"file", config.journal_file},
                              {"file_mib", config.journal_file_mib},
                              {"files", static_cast<std::int64_t>(config.journal_files)}}},
      {"store", store_table(config)},
      {"jobs", jobs_table(config.jobs)},
      {"http", http_table(config.http)},
      {"executors", executors_table(config.executors)},
      {"dataplane", toml::table{{"kind", name_of(kKinds, config.plane)},
                                {"network_namespace", config.network_namespace},
                                {"protocol", static_cast<std::int64_t>(config.protocol)},
                                {"metric", static_cast<std::int64_t>(config.metric)},
                                {"batch", static_cast<std::int64_t>(config.batch)},
                                {"table", static_cast<std::int64_t>(config.table)},
                                {"hold_s", config.hold_s},
                                {"safety_share", config.safety_share},
                                {"safety_least", config.safety_least},
                                {"safety_wait_s", config.safety_wait_s},
                                {"audit_s", config.audit_s},
                                {"on_drift", name_of(kOnDrift, config.repairs_drift)},
                                {"learn_neighbors", config.learn_neighbors},
                                {"detect_duplicates", config.detect_duplicates},
                                {"simulated_ports", texts(config.simulated_ports)},
                                {"cpus", cpus(config.dataplane_cpus)}}},
      {"fpm", toml::table{{"enabled", config.fpm.enabled},
                          {"address", config.fpm.address},
                          {"port", static_cast<std::int64_t>(config.fpm.port)},
                          {"table", static_cast<std::int64_t>(config.fpm.table)},
                          {"quiet_ms", config.fpm.quiet_ms},
                          {"wait_s", config.fpm.wait_s},
                          {"weights", name_of(kWeights, config.fpm.plain_weights)},
                          {"offload_answers", config.fpm.offload_answers},
                          {"users", texts(config.fpm.users)}}},
      {"managers",
       toml::table{{"enabled", config.managers.enabled}, {"config_db", config.managers.config_db}, {"state_db", config.managers.state_db}}},
      {"resources", resources_table(config.resources)},
      {"simulated", simulated_table(config.simulated)}};
  if (!config.notify.empty()) table.insert("notify", notify_array(config.notify));
  return table;
}

}  // namespace

std::string to_toml(const Config& config) {
  std::ostringstream out;
  out << to_table(config) << '\n';
  return out.str();
}

std::string to_json(const Config& config) {
  std::ostringstream out;
  out << toml::json_formatter{to_table(config)};
  return out.str();
}

}  // namespace rondo::daemon
