#include "rondod/daemon.h"

#include <algorithm>
#include <utility>

#include "commands/context.h"
#include "rondo/base/thread_settings.h"
#include "rondo/journal/journal.h"
#include "rondod/configuration/user_names.h"
#include "rondod/limits.h"
#include "rondod/stores/placement.h"
#include "switch_agent/priorities.h"
#include "switch_agent/tables.h"

namespace rondo::daemon {

Daemon::Daemon(const Config& config, Log& log, const RecentLog& kept) : config_(config), log_(log), kept_(kept) {}

Daemon::~Daemon() {
  // Destroy each part before the parts that it uses.
  if (front_ != nullptr) front_->stop();
  service_.reset();
  standby_timer_.reset();
  health_timer_.reset();
  context_.reset();
  jobs_.reset();
  front_.reset();
  fpm_.reset();
  state_db_.reset();
  neighbors_.reset();
  agent_.reset();
  runtime_.reset();
  managers_.reset();
}

Result<std::unique_ptr<Daemon>> Daemon::open(const Config& config, Log& log, const RecentLog& kept) {
  std::unique_ptr<Daemon> daemon{new Daemon(config, log, kept)};
  for (const auto step : {&Daemon::check_socket, &Daemon::open_plane, &Daemon::open_runtime, &Daemon::open_front, &Daemon::open_jobs,
                          &Daemon::open_admin, &Daemon::start_work}) {
    if (Status status = (daemon.get()->*step)(); !status.ok()) return failure(std::move(status));
  }
  return daemon;
}

/// Runs before any part is created, so that a refused start leaves no trace. open_admin() checks again.
Status Daemon::check_socket() { return AdminServer::check_path(config_.socket).with_context("opening the admin socket"); }

Status Daemon::lock_plane() {
  netlink::PlaneLock::Holder holder;
  auto lock = netlink::PlaneLock::take(config_.network_namespace, config_.protocol, &holder);
  if (!lock && lock.error().code() == StatusCode::AlreadyExists && may_stand_by(config_)) {
    plane_holder_ = to_string(holder);
    log_.warn("standby: another process programs the namespace with our protocol number, waiting for its end",
              {{"protocol", static_cast<std::uint64_t>(config_.protocol)}, {"holder", plane_holder_}});
    return {};
  }
  if (!lock) return lock.error();
  plane_lock_ = std::move(*lock);
  if (plane_lock_.strangers().empty()) return {};
  std::string holders;
  for (const netlink::PlaneLock::Holder& stranger : plane_lock_.strangers())
    holders.append(holders.empty() ? "" : "; ").append(to_string(stranger));
  log_.warn(plane_lock_.is_held() ? "processes without CAP_NET_ADMIN hold names of the lock of the data plane, using another name"
                                  : "processes without CAP_NET_ADMIN hold all names of the lock of the data plane, continuing without it",
            {{"protocol", static_cast<std::uint64_t>(config_.protocol)}, {"holders", holders}});
  return {};
}

Status Daemon::open_plane() {
  if (config_.plane == PlaneKind::None) return {};
  if (config_.plane == PlaneKind::Simulated) {
    auto plane = make_simulated(config_.simulated);
    for (const std::string& port : config_.simulated_ports) plane->add_port(port);
    simulated_ = plane.get();
    plane_ = std::move(plane);
    return {};
  }
  if (Status locked = lock_plane(); !locked.ok()) return locked.with_context("opening the data plane");
  if (!plane_holder_.empty()) {  // A standby must not touch the kernel, and what it would read there changes until it takes over.
    plane_ = std::make_unique<SimDataPlane>();
    return {};
  }
  auto place = netlink::NetworkNamespace::open(config_.network_namespace);
  if (!place) return place.error().with_context("opening the data plane");
  namespace_ = std::move(*place);
  auto plane = make_linux_dataplane({.network_namespace = config_.network_namespace,
                                     .protocol = config_.protocol,
                                     .metric = config_.metric,
                                     .batch = config_.batch,
                                     .detect_duplicates = config_.detect_duplicates});
  if (!plane) return plane.error().with_context("opening the data plane");
  plane_ = std::move(*plane);
  return {};
}

Status Daemon::open_runtime() {
  static const SystemClock kClock;
  RuntimeOptions options;
  options.policy = config_.policy.options();
  auto store = choose_store(config_, store_hooks());
  if (!store) return store.error().with_context("opening the store");
  options.store = std::move(*store);
  if (!config_.journal_file.empty()) {
    auto journal = Journal::open({.file = config_.journal_file,
                                  .file_bytes = static_cast<std::uint64_t>(config_.journal_file_mib) << 20U,
                                  .files = config_.journal_files,
                                  .begin_later = true},
                                 kClock);
    if (!journal) return journal.error().with_context("opening the journal");
    journal_ = journal->get();
    options.observer = std::move(*journal);
  }
  auto runtime = Runtime::open(std::move(options));
  if (!runtime) return runtime.error();
  runtime_ = std::move(*runtime);
  runtime_->on_reject([this](std::string_view, const Change& change, const Status& why) { events_.rejected(change, why); });
  runtime_->scheduler().on_quarantine([this](const Source& source, const Status& why) {
    log_.error("source quarantined", {{"source", source.name()}, {"why", why}});
  });
  if (Status opened = plane_ == nullptr ? Status{} : open_agent(); !opened.ok()) return opened;
  if (Status opened = open_managers(); !opened.ok()) return opened;
  if (Status opened = open_neighbors(); !opened.ok()) return opened.with_context("learning neighbours");
  if (Status unknown = check_groups(config_, runtime_->consumers()); !unknown.ok())
    return unknown.with_context("a store's group of tables");
  health_timer_ = std::make_unique<TimerSource>("store health", switch_agent::kAdmin, [this] { watch_store(); });
  runtime_->scheduler().add(*health_timer_);
  health_timer_->arm_every(kHealth, runtime_->clock().now() + kHealth);
  return {};
}

Status Daemon::open_agent() {
  if (Status fit = declare_tables(); !fit.ok()) return fit;
  agent_ = std::make_unique<switch_agent::SwitchAgent>(
      *runtime_, *plane_,
      switch_agent::SwitchAgentOptions{
          .table = config_.table,
          .retry_quota = config_.retry_quota,
          .protocol = config_.protocol,
          .programmer_cpus = config_.dataplane_cpus,
          .hold = std::chrono::seconds{config_.hold_s},
          .rows_have_come = [this] { return rows_have_come(); },
          .is_foreign_table = [this](std::string_view table) { return is_run_table(config_, table); },
          .safety = {.share = config_.safety_share,
                     .least = static_cast<std::uint64_t>(config_.safety_least),
                     .wait = std::chrono::seconds{config_.safety_wait_s}},
          .on_refused = [this](const Operation& op) { events_.refused(op); },
          .on_link =
              [this](const LinkEvent& event) {
                events_.link(event, runtime_->clock().now());
                if (fpm_ != nullptr) fpm_->link_event(event);
                if (state_db_ != nullptr) state_db_->link_event(event);
                if (neighbors_ != nullptr) neighbors_->link_event(event);
              },
          .on_set_up = [this](std::string_view port) { events_.set_up(port); },
          .audit = {.period = std::chrono::seconds{config_.audit_s},
                    .action = config_.repairs_drift ? switch_agent::OnDrift::Repair : switch_agent::OnDrift::Report}});
  agent_->safety().on_event(
      [this](switch_agent::SafetyStop::Event event, const switch_agent::SafetyStop::Held& held) { log_safety(log_, event, held); });
  open_resources();
  return {};
}

void Daemon::open_resources() {
  const auto count = [this] {
    const switch_agent::NexthopGroups::Counts groups = agent_->nexthop_groups().counts();
    return switch_agent::Resources::Counts{agent_->routes().counts().routes, groups.present_nexthops, groups.usable_groups,
                                           agent_->row_states().counts("NEIGH_TABLE").installed};
  };
  resources_ = std::make_unique<switch_agent::Resources>(config_.resources, count,
                                                         [this](const switch_agent::Resources::Use& use) { log_resource(log_, use); });
}

/// A standby makes no rows. So the managers also wait for the leases of the tables.
Status Daemon::open_managers() {
  if (!config_.managers.enabled || !plane_holder_.empty()) return {};
  auto managers = managers::Managers::open(*runtime_, managers_options(redis_, agent_->safety()));
  if (!managers) return managers.error().with_context("opening the managers");
  managers_ = std::move(*managers);
  auto state = StateDb::open(config_.managers, *runtime_, *agent_, *managers_, redis_);
  if (state) state_db_ = std::move(*state);
  return state ? Status{} : state.error().with_context("opening STATE_DB");
}

/// A standby makes no rows.
Status Daemon::open_neighbors() {
  if (!config_.learn_neighbors || !plane_holder_.empty()) return {};
  auto neighbors = NeighborFeed::open(*runtime_, *agent_, *plane_, redis_);
  if (neighbors) neighbors_ = std::move(*neighbors);
  return neighbors ? Status{} : neighbors.error();
}

/// A standby does not listen: the process that it stands by for may have the same address.
Status Daemon::open_front() {
  if (!plane_holder_.empty()) return {};
  auto front = daemon::open_front(config_, *runtime_, log_);
  if (!front) return front.error();
  front_ = std::move(*front);
  return {};
}

/// A standby runs no jobs: the process that it stands by for may use the database.
Status Daemon::open_jobs() {
  if (!config_.jobs.enabled || !plane_holder_.empty()) return {};
  auto jobs = daemon::open_jobs(config_, *runtime_, registry_, log_, front_.get());
  if (!jobs) return jobs.error().with_context("opening the jobs");
  jobs_ = std::move(*jobs);
  return {};
}

/// A file may have a table of the same name and another kind, or no room for one: then the agent could not be made.
Status Daemon::declare_tables() {
  const std::vector<TableSpec> known = runtime_->store().tables();
  for (const switch_agent::TableReference& table : switch_agent::tables()) {
    const std::string name{table.name};
    const auto found = std::ranges::find(known, name, &TableSpec::name);
    const Status declared = found == known.end() ? runtime_->store().declare({.name = name}) : Status{};
    if (!declared.ok()) return declared.with_context("the store of table " + name);
    if (found != known.end() && found->kind != TableKind::Staged) {
      return {StatusCode::FailedPrecondition,
              "the store has a table " + name + " that is " + std::string{to_string(found->kind)} + ", and rondod needs it staged"};
    }
  }
  return {};
}

StoreHooks Daemon::store_hooks() {
  StoreHooks hooks;
  hooks.redis = redis_.hooks();
  hooks.direct.on_open = [this](std::unique_ptr<DirectFeed> feed) { feeds_.push_back(std::move(feed)); };
  hooks.durable.on_open = [this](std::unique_ptr<TableFile> file) { files_.push_back(std::move(file)); };
  hooks.durable.on_restored = [this](const std::string& file, std::uint64_t rows) {
    log_.info("restored tables from the file", {{"file", file}, {"rows", rows}});
  };
  hooks.durable.on_not_shrunk = [this](const std::string& file, const std::string& why) {
    log_.warn("the file is far larger than its tables and could not be written anew", {{"file", file}, {"why", why}});
  };
  hooks.direct.on_trouble = [this](const Status& why, std::uint64_t count) {
    // A reached limit is logged in preference to single dropped frames.
    if (feed_troubles_ == 0 || feed_trouble_.code() != StatusCode::ResourceExhausted || why.code() == StatusCode::ResourceExhausted)
      feed_trouble_ = why;
    feed_troubles_ += count;
  };
  return hooks;
}

bool Daemon::has_damage() const {
  return std::ranges::any_of(files_, [](const std::unique_ptr<TableFile>& file) { return !file->stats().damage.empty(); });
}

/// After damage to a file, an object that no row asks for may belong to a lost row. It stays until producers have had time to write the
/// rows again.
void Daemon::hold_after_damage() {
  if (agent_ == nullptr || agent_->has_restarted() || !has_damage()) return;
  const std::int64_t seconds = config_.hold_s > 0 ? config_.hold_s : limits::kRestartHold;
  held_until_ = runtime_->clock().now() + std::chrono::seconds{seconds};
  log_.warn("rows were lost: what an earlier run left in the data plane stays, although no row asks for it", {{"s", seconds}});
}

/// True when producers have had time to write lost rows again, and zebra to send its routes.
bool Daemon::rows_have_come() const {
  return runtime_->clock().now() >= held_until_ && (fpm_ == nullptr || fpm_->rows_have_come(runtime_->clock().now()));
}

/// Logs once that every consumer has taken the rows that its store had at the start.
void Daemon::report_standing_rows(const std::vector<ConsumerStats>& consumers) {
  if (standing_rows_reported_ || !std::ranges::all_of(consumers, &ConsumerStats::caught_up)) return;
  standing_rows_reported_ = true;
  std::uint64_t taken = 0;
  for (const ConsumerStats& consumer : consumers) taken += runtime_->store().outlives_process(consumer.table) ? consumer.taken : 0;
  if (taken > 0) log_.info("read the rows that the stores had at the start", {{"store", describe_stores(config_)}, {"changes", taken}});
}

void Daemon::watch_store() {
  const std::vector<ConsumerStats> consumers = runtime_->consumers();  // Counts rows, so it is asked for once.
  report_standing_rows(consumers);
  writes_.flush();
  events_.check(consumers);
  if (agent_ != nullptr) events_.held_by_others(agent_->routes().held_by_others());
  if (agent_ != nullptr) events_.held_by_others(agent_->fdb().held_by_others());
  if (resources_ != nullptr) resources_->look();
  if (jobs_ != nullptr) watch_jobs();
  plane_lock_.answer();
  check_refused_orders(*context_);
  check_repaired_rows(*context_, log_);
  if (const std::uint64_t troubles = std::exchange(feed_troubles_, 0); troubles != 0) {
    log_.warn("direct tables have trouble", {{"count", troubles}, {"newest", feed_trouble_}});
  }
  redis_.check(runtime_->clock());
  watch_journal();
  watch_namespace();
}

/// The next Daemon waits for the jobs, as a standby.
void Daemon::watch_jobs() {
  jobs_->poll();
  if (takes_over_ || !jobs_->is_taken_over() || !service_->is_serving()) return;
  log_.error("another scheduler has taken the jobs over: starting again as its standby");
  takes_over_ = true;
  service_->drain();
}

void Daemon::watch_namespace() {
  const Status named = namespace_ ? namespace_->check_name() : Status{};
  if (named.message() != context_->namespace_trouble && !named.ok()) log_.error("the data plane has trouble, continuing", {{"why", named}});
  context_->namespace_trouble = named.message();
}

void Daemon::watch_journal() {
  if (journal_ == nullptr) return;
  const JournalStats stats = journal_->stats();
  const std::uint64_t dropped = stats.dropped - std::exchange(journal_dropped_, stats.dropped);
  const std::uint64_t errors = stats.write_errors - std::exchange(journal_errors_, stats.write_errors);
  if (stats.last_error.message() != journal_trouble_.message()) {
    journal_trouble_ = stats.last_error;
    if (journal_trouble_.ok()) {
      log_.info("the journal is written again", {{"file", config_.journal_file}, {"dropped", stats.dropped}});
    } else {
      log_.error("the journal has errors, continuing",
                 {{"file", config_.journal_file}, {"why", journal_trouble_}, {"dropped", stats.dropped}});
    }
  } else if (errors != 0 && journal_trouble_.ok()) {
    log_.error("the journal had errors, and is written again",
               {{"file", config_.journal_file}, {"why", stats.newest_error}, {"dropped", stats.dropped}});
  } else if (dropped != 0 && journal_trouble_.ok()) {
    log_.warn("records of the journal were dropped, because its disk did not take them in time",
              {{"file", config_.journal_file}, {"count", dropped}, {"write_errors", stats.write_errors}});
  }
}

/// Logs each lasting difference once, and each repair and each failed reading.
void Daemon::report_audit(const switch_agent::AuditResult& result, std::span<const switch_agent::Drift> drifts) {
  const std::string_view objects = to_string(result.kind);
  if (!result.status.ok()) return log_.error("the data plane cannot be audited", {{"objects", objects}, {"why", result.status}});
  constexpr unsigned kTold = 3;  // A program that changes an object repeatedly would fill the log.
  if (result.fresh == 0 && (result.repaired == 0 || result.attempt > kTold)) return;
  const auto first =
      std::ranges::find_if(drifts, [&](const switch_agent::Drift& one) { return switch_agent::kind_of(one.object) == result.kind; });
  const bool is_known = first != drifts.end();
  const std::string words = is_known ? (first->wanted.empty() ? first->actual : first->wanted) : std::string{};
  const std::string row = is_known && !first->table.empty() ? first->table + " " + first->key : "none";
  log_.warn("the data plane differed from the rows", {{"objects", objects},
                                                      {"missing", result.found[0]},
                                                      {"changed", result.found[1]},
                                                      {"unwanted", result.found[2]},
                                                      {"first", words},
                                                      {"row", row},
                                                      {"repaired", result.repaired}});
}

Status Daemon::start_agent() {
  if (Status started = agent_->start(); !started.ok()) return started;
  if (Status started = neighbors_ == nullptr ? Status{} : neighbors_->start(); !started.ok()) return started;
  if (Status started = state_db_ == nullptr ? Status{} : state_db_->start(*runtime_, *plane_, *agent_); !started.ok()) {
    return started.with_context("following what bridges learn");
  }
  agent_->audit()->on_result(
      [this](const switch_agent::AuditResult& result, std::span<const switch_agent::Drift> drifts) { report_audit(result, drifts); });
  return {};
}

Status Daemon::start_work() {
  if (Status started = agent_ == nullptr ? Status{} : start_agent(); !started.ok()) return started;
  if (Status started =
          front_ == nullptr ? Status{} : front_->start(commands::context_of(service_->commands()), [this] { return unready(*context_); });
      !started.ok())
    return started;
  if (jobs_ != nullptr) jobs_->start();
  hold_after_damage();
  if (Status fed = open_fpm(); !fed.ok()) return fed.with_context("the FPM server");
  if (!plane_holder_.empty()) {
    standby_timer_ = std::make_unique<TimerSource>("standby", switch_agent::kAdmin, [this] { try_to_take_over(); });
    runtime_->scheduler().add(*standby_timer_);
    standby_timer_->arm_every(kTakeOver, runtime_->clock().now() + kTakeOver);
    return begin_journal();  // The threads of the next run must not inherit the settings.
  }
  // Do this last: later threads would inherit both settings.
  if (Status ranked = set_thread_nice(config_.nice); !ranked.ok()) {
    log_.info("cannot set the nice value of the scheduler thread, keeping that of the process", {{"why", ranked}});
  }
  if (Status pinned = pin_thread(::pthread_self(), config_.scheduler_cpus); !pinned.ok()) {
    return pinned.with_context("the scheduler's thread");
  }
  return begin_journal();
}

/// A standby takes no routes.
Status Daemon::open_fpm() {
  if (!config_.fpm.enabled || !plane_holder_.empty()) return {};
  Result<std::unique_ptr<FpmFeed>> fpm = FpmFeed::open(*runtime_, *agent_, config_.fpm, redis_, log_);
  if (!fpm) return fpm.error();
  fpm_ = std::move(*fpm);
  return {};
}

/// Opens the journal last, so that a start refused before leaves no trace in it.
Status Daemon::begin_journal() { return journal_ == nullptr ? Status{} : journal_->begin().with_context("opening the journal"); }

Status Daemon::add_commands() {
  context_ = std::make_shared<CommandContext>(CommandContext{.runtime = *runtime_,
                                                             .agent = agent_.get(),
                                                             .safety = agent_ == nullptr ? nullptr : &agent_->safety(),
                                                             .plane = plane_.get(),
                                                             .simulated = simulated_,
                                                             .feeds = feeds_,
                                                             .files = files_,
                                                             .resources = resources_.get(),
                                                             .fpm = fpm_,
                                                             .managers = managers_,
                                                             .state_db = state_db_,
                                                             .neighbors = neighbors_,
                                                             .redis = redis_,
                                                             .plane_holder = plane_holder_,
                                                             .config = config_,
                                                             .jobs = jobs_.get()});
  DaemonAdder own(registry_, context_);
  add_config_command(own);
  add_fpm_command(own);
  if (Status opened = add_restart_command(own); !opened.ok()) return opened.with_context("the channel RESTARTCHECK");
  if (agent_ == nullptr) {
    add_absent_switch_commands(own);
  } else {
    add_port_commands(own);
    add_safety_command(own);
    add_resources_command(own);
    add_audit_commands(own);
  }
  if (jobs_ == nullptr) add_absent_job_commands(own);
  if (config_.executors.groups.empty()) add_absent_executor_commands(own);
  if (!config_.http.api || !plane_holder_.empty()) add_absent_api_commands(own);
  return own.status();
}

Status Daemon::open_admin() {
  if (Status added = add_commands(); !added.ok()) return added;
  if (Status added = front_ == nullptr ? Status{} : front_->add_commands(registry_); !added.ok()) return added;
  auto options = service_options();
  if (!options) return options.error();
  auto service = Service::open(*runtime_, registry_, std::move(*options));
  if (!service) return service.error();
  service_ = std::move(*service);
  commands::context_of(service_->commands()).on_write = [this](const AdminWrite& write) { writes_.add(write); };
  return {};
}

Result<ServiceOptions> Daemon::service_options() {
  ServiceOptions options;
  options.admin.path = config_.socket;
  options.admin.priority = switch_agent::kAdmin;
  if (!config_.read_group.empty()) {
    const Result<std::uint32_t> group = group_named(config_.read_group);
    if (!group) return failure(group.error().with_context("admin.read_group"));
    options.admin.read_group = *group;
  }
  options.commands = command_options();
  options.log = &log_;
  options.stall = std::chrono::milliseconds{config_.stall_ms};
  options.stall_stack = config_.stall_stack;
  options.on_serving = [this] { return report_start(); };
  options.on_reload = [this] {
    read_config_again();
    read_passwords_again();
    if (front_ != nullptr) front_->reload();
  };
  options.on_drain = [this] {
    if (fpm_ != nullptr) fpm_->stop();
  };
  options.is_drained = [this] { return is_drained(); };
  options.may_leave = [this](std::string_view table) { return is_run_table(config_, table); };  // The database of jobs keeps the runs.
  return options;
}

/// STATE_DB is in a store that is not the runtime's.
bool Daemon::is_drained() const {
  const auto is_answered = [](const std::unique_ptr<OpenRedis>& store) { return store->unanswered() == 0; };
  return (agent_ == nullptr || agent_->programmer().in_flight() == 0) && std::ranges::all_of(redis_.stores(), is_answered);
}

StandardCommandsOptions Daemon::command_options() {
  StandardCommandsOptions options;
  options.priority = switch_agent::kAdmin;
  options.canonical_key = [](std::string_view table) {
    const switch_agent::TableReference* const reference = switch_agent::find_table(table);
    return reference != nullptr ? reference->canonical_key : nullptr;
  };
  options.claim_of = [this](std::string_view table, std::string_view key) {
    return fpm_ == nullptr ? RowClaim{} : fpm_->claim_of(table, key);
  };
  options.standby_for = [this] { return plane_holder_; };
  options.log = &kept_;
  options.add_stats = [this](boost::json::object& stats) { add_stats(*context_, stats); };
  options.add_top = [this](boost::json::object& top) { add_top(*context_, top); };
  options.add_health = [this](boost::json::array& troubles, boost::json::array& notes) { add_health(*context_, troubles, notes); };
  return options;
}

std::string Daemon::report_start() {
  warn_of_policy();
  log_.info("serving", {{"socket", config_.socket},
                        {"dataplane", !plane_holder_.empty() ? "none, as a standby"
                                      : plane_ == nullptr    ? "none"
                                                             : plane_->describe()},
                        {"policy", runtime_->scheduler().policy().describe()},
                        {"store", describe_stores(config_)}});
  return plane_holder_.empty() ? "serving" : "standby for " + plane_holder_;
}

Status Daemon::run() { return service_->run(); }

/// The lock is held until this object ends, and the next one takes it again. Accepted writes need their answers first.
void Daemon::try_to_take_over() {
  if (takes_over_ || !service_->is_serving() || runtime_->store().unfinished() > 0) return;
  netlink::PlaneLock::Holder holder;
  auto lock = netlink::PlaneLock::take(config_.network_namespace, config_.protocol, &holder);
  if (!lock) {
    if (lock.error().code() == StatusCode::AlreadyExists) plane_holder_ = to_string(holder);
    return;
  }
  log_.info("standby: the namespace is free, taking over", {{"holder", plane_holder_}});
  plane_lock_ = std::move(*lock);
  takes_over_ = true;
  service_->drain();
}

}  // namespace rondo::daemon
