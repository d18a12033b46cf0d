// See rondo/commands/service.h.
#include "rondo/commands/service.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "commands/context.h"
#include "commands/notify.h"
#include "commands/recent_log.h"
#include "commands/signals.h"
#include "rondo/journal/journal.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/stall_watchdog.h"
#include "rondo/sched/timer.h"
#include "rondo/store/store.h"

namespace rondo {

using commands::kNotNotified;
using commands::notify;
using commands::Signals;

namespace {

constexpr Duration kPeriod = 1s;
constexpr Duration kDrainStep = 10ms;

double in_ms(Duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

/// A log on standard error that keeps its newest lines.
struct OwnLog {
  explicit OwnLog(const Clock& clock) : log(clock, options()) {}
  LogOptions options() {
    LogOptions made;
    made.copy = [this](std::string_view line) { kept.add(line); };
    return made;
  }
  RecentLog kept;
  Log log;
};

}  // namespace

class Service::Impl {
 public:
  Impl(Runtime& its_runtime, ServiceOptions given)
      : runtime(its_runtime),
        options(std::move(given)),
        own_log(options.log == nullptr ? std::make_unique<OwnLog>(runtime.clock()) : nullptr) {
    if (own_log != nullptr) options.commands.log = &own_log->kept;
  }

  Log& log() { return own_log != nullptr ? own_log->log : *options.log; }
  Store& store() { return runtime.store(); }

  Status open(CommandRegistry& registry) {
    for (const std::string& lost : store().report().damage) log().error("the store was damaged, what is whole was kept", {{"lost", lost}});
    auto opened = Signals::open(runtime.scheduler(), [this](int signal) { on_signal(signal); });
    if (!opened) return opened.error();
    signals = std::move(*opened);
    for (TimerSource* const timer : {&period, &drain_timer}) runtime.scheduler().add(*timer);
    period.arm_every(kPeriod, runtime.clock().now() + kPeriod);
    runtime.scheduler().on_long_turn([this](const LongTurn& turn) { report_long_turn(turn); });
    if (Status watched = open_watchdog(); !watched.ok()) return watched.with_context("the stall watchdog");
    if (!options.commands.stalls) options.commands.stalls = [this] { return watchdog == nullptr ? 0 : watchdog->stalls(); };
    auto added = add_standard_commands(registry, runtime, std::move(options.commands));
    if (!added) return added.error();
    standard = std::move(*added);
    commands::context_of(*standard).on_notice = [this](const AdminNotice& notice) { report_notice(notice); };
    path = options.admin.path;
    return standard->serve(std::move(options.admin));
  }

  Status run() {
    std::string state = "serving";
    if (options.on_serving) {
      state = options.on_serving();
    } else {
      log().info("serving", {{"socket", path}, {"policy", runtime.scheduler().policy().describe()}});
    }
    tell("READY=1\nSTATUS=" + state);
    runtime.run();
    if (Journal* const journal = Journal::of(runtime)) {
      static_cast<void>(journal->flush());  // Its result may be of an earlier trouble that was already logged.
      if (const Status why = journal->stats().last_error; !why.ok()) log().error("journal not written", {{"why", why}});
    }
    const bool drained = is_drained();
    const Status lost = lost_work();
    if (!lost.ok()) log().error("accepted work is lost", {{"lost", lost.message()}});
    log().info("ended", {{"drained", drained && lost.ok()}});
    return ended_why.ok() ? lost : ended_why;
  }

  void begin_drain() {
    if (!standard->is_serving()) return;
    standard->stop_serving();
    store().begin_end();
    if (options.on_drain) options.on_drain();
    drain_until = runtime.clock().now() + options.drain;
    drain_timer.arm_every(kDrainStep, runtime.clock().now());
  }

  void end(Status why) {
    if (!ended_why.ok()) return;
    log().error("ending", {{"why", why}});
    ended_why = std::move(why);
    runtime.stop();
  }

 private:
  Status open_watchdog() {
    const Duration heartbeat = commands::watchdog_period() / 2;
    if (options.stall <= Duration{0}) return {};
    auto started = StallWatchdog::start(runtime.scheduler(), {.limit = options.stall,
                                                              .stack = options.stall_stack,
                                                              .heartbeat = heartbeat,
                                                              .on_stall = [this](const Stall& stall) { report_stall(stall); },
                                                              .on_end =
                                                                  [this](Duration lasted) {
                                                                    log().warn("the stalled turn has ended", {{"ms", in_ms(lasted)}});
                                                                    static_cast<void>(notify("STATUS=serving"));
                                                                  },
                                                              .on_heartbeat = [] { static_cast<void>(notify("WATCHDOG=1")); }});
    if (!started) return started.error();
    watchdog = std::move(*started);
    return {};
  }

  void tell(const std::string& state) {
    if (Status told = notify(state); !told.ok()) log().warn(kNotNotified, {{"why", told}});
  }

  void on_signal(int signal) {
    if (signal == SIGHUP) return reload();
    has_signal = true;
    if (!standard->is_serving()) return runtime.stop();  // The second signal ends the drain.
    tell("STOPPING=1\nSTATUS=draining");
    log().info("draining", {{"signal", signal}});
    begin_drain();
  }

  /// The service manager waits for READY=1, and matches it to this reload by its time.
  void reload() {
    static_cast<void>(notify("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(runtime.clock().now().nanoseconds() / 1000)));
    if (Journal* const journal = Journal::of(runtime)) {
      journal->rotate();
      log().info("the journal reopens its file");
    }
    if (options.on_reload) options.on_reload();
    tell("READY=1\nSTATUS=serving");
  }

  void drain_step() {
    // From now on the next holder handles new rows.
    gives_back = gives_back || is_drained();
    if (runtime.clock().now() >= drain_until || (gives_back && store().release())) runtime.stop();
  }

  bool may_leave(const ConsumerStats& consumer) const { return options.may_leave && options.may_leave(consumer.table); }

  bool is_drained() {
    const std::vector<ConsumerStats> consumers = runtime.consumers();
    return store().unfinished() == 0 && (!options.is_drained || options.is_drained()) &&
           std::ranges::all_of(consumers, [this](const auto& one) { return (one.queued == 0 && one.in_flight == 0) || may_leave(one); });
  }

  /// DataLoss with the accepted work that is lost when the process ends. Parked rows do not count, because the facts that they wait for may
  /// never hold. Unfinished rows that the store keeps do not count, because the next process reads them again.
  Status lost_work() {
    std::uint64_t rows = 0;
    for (const ConsumerStats& one : runtime.consumers()) {
      if (!store().outlives_process(one.table) && !may_leave(one)) rows += one.queued + one.in_flight;
    }
    const Status rest = store().finish();
    if (rows == 0) return rest;
    const std::string what = std::to_string(rows) + " accepted rows that were not handled";
    return {StatusCode::DataLoss, rest.ok() ? what : what + ", " + std::string{rest.message()}};
  }

  void look() {
    store().poll();
    if (Status no = store().report().must_end; !no.ok()) return end(std::move(no));
    const std::uint64_t failed = standard->failed_writes() - std::exchange(failures_reported, standard->failed_writes());
    if (failed != 0) {
      log().warn("writes failed or were refused by their store, continuing",
                 {{"count", failed}, {"newest", standard->last_failed_write()}});
    }
    const std::uint64_t rescues = runtime.scheduler().stats().sweep_rescues;
    if (const std::uint64_t lost = rescues - std::exchange(rescues_reported, rescues); lost != 0) {
      log().error("wake-ups were lost and rescued, please report it", {{"count", lost}});
    }
    const Status health = store().health();
    if (health.message() == trouble.message()) return;
    trouble = health;
    if (health.ok()) {
      log().info("the store works again");
    } else {
      log().warn("the store has trouble, continuing", {{"why", health}});
    }
  }

  /// Logs the time in the form of the kernel's log, so that the two logs can be compared.
  void report_long_turn(const LongTurn& turn) {
    const double began_s = in_ms(turn.began - Instant{}) / 1e3;
    log().warn("slow turn", {{"source", turn.source}, {"ms", in_ms(turn.ran)}, {"cpu_ms", in_ms(turn.on_cpu)}, {"began_s", began_s}});
  }

  /// On the watchdog's thread, on which log and notify() may be used.
  void report_stall(const Stall& stall) {
    const std::string source = stall.source.empty() ? "unknown" : stall.source;
    if (options.stall_stack) {
      std::string stack;
      for (const std::string& frame : stall.stack) stack += (stack.empty() ? "" : " < ") + frame;
      log().error("turn still running", {{"source", source}, {"ms", in_ms(stall.lasted)}, {"stack", stack}});
    } else {
      log().error("turn still running", {{"source", source}, {"ms", in_ms(stall.lasted)}});
    }
    static_cast<void>(notify("STATUS=stuck in a turn of " + source));
  }

  void report_notice(const AdminNotice& notice) {
    switch (notice.kind) {
      case AdminNotice::Kind::SocketMade: return log().warn("the admin socket file was removed and has been recreated", {{"socket", path}});
      case AdminNotice::Kind::SocketLost:
        return log().error("the admin socket file was removed and cannot be recreated: new clients cannot connect",
                           {{"socket", path}, {"why", notice.why}});
      case AdminNotice::Kind::NotAccepted:
        return log().error("connections of the admin socket wait, and are accepted when there is room",
                           {{"why", notice.why}, {"count", notice.count}});
      default:
        return log().warn("connections of the admin socket were cut", {{"why", to_string(notice.kind)},
                                                                       {"count", notice.count},
                                                                       {"newest_uid", notice.newest.user},
                                                                       {"newest_pid", notice.newest.process}});
    }
  }

 public:
  Runtime& runtime;
  ServiceOptions options;
  const std::unique_ptr<OwnLog> own_log;  // Null with ServiceOptions::log.
  std::string path;
  std::unique_ptr<StandardCommands> standard;
  std::unique_ptr<Signals> signals;
  TimerSource period{"service", Priority{}, [this] { look(); }};
  TimerSource drain_timer{"drain", Priority{63}, [this] { drain_step(); }};
  Instant drain_until;
  bool has_signal = false;
  bool gives_back = false;  // The work is finished, and the store returns its leases.
  Status ended_why;
  Status trouble;
  std::uint64_t failures_reported = 0;
  std::uint64_t rescues_reported = 0;
  std::unique_ptr<StallWatchdog> watchdog;  // Destroyed first: its thread calls functions of this object.
};

Result<std::unique_ptr<Service>> Service::open(Runtime& runtime, CommandRegistry& registry, ServiceOptions options) {
  std::unique_ptr<Service> service{new Service(std::make_unique<Impl>(runtime, std::move(options)))};
  if (Status failed = service->impl_->open(registry); !failed.ok()) return failure(std::move(failed));
  return service;
}

Service::Service(std::unique_ptr<Impl> parts) : impl_(std::move(parts)) {}
Service::~Service() {
  impl_->watchdog.reset();
  impl_->runtime.scheduler().on_long_turn({});
}

Status Service::run() { return impl_->run(); }
void Service::drain() { impl_->begin_drain(); }
void Service::end(Status why) { impl_->end(std::move(why)); }
bool Service::is_serving() const noexcept { return impl_->standard->is_serving(); }
bool Service::has_signal() const noexcept { return impl_->has_signal; }
StandardCommands& Service::commands() noexcept { return *impl_->standard; }
Log& Service::log() noexcept { return impl_->log(); }

Status serve(Runtime& runtime, CommandRegistry& registry, ServiceOptions options) {
  const auto service = Service::open(runtime, registry, std::move(options));
  return service ? (*service)->run() : service.error();
}

}  // namespace rondo
