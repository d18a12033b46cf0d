// The thread of a worker, and its end. The home thread makes, fills and destroys the worker's runtime; in between the runtime belongs to
// the worker's thread. Both sides share src/store/bridge (tables), src/orch/shared_facts.h (facts) and a mailbox (rejects).
#include "rondo/orch/worker.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <system_error>
#include <thread>

#include "orch/runtime_impl.h"
#include "rondo/base/assert.h"
#include "rondo/base/limits.h"
#include "rondo/base/thread_settings.h"
#include "rondo/sched/mailbox.h"

namespace rondo {

namespace {

constexpr std::size_t kThreadNameBytes = 15;  // Linux keeps this many.

struct Reject {
  std::string table;
  Change change;
  Status why;
};

/// Put by the home thread, answered in a turn of the worker.
struct Question {
  std::function<void(Runtime&)> what;
  std::promise<void> answered;
};
constexpr Priority kQuestions{limits::kPriorities - 1};  // High, because an operator and the home thread wait for the answer.

}  // namespace

struct Worker::Impl {
  explicit Impl(WorkerOptions given) : options(std::move(given)) {}

  void work(std::promise<Status> settled);
  Status prepare_thread() const;
  void report_rejects();

  WorkerOptions options;
  Runtime* home = nullptr;
  std::unique_ptr<store::bridge::HomeBridge> home_end;
  std::unique_ptr<Mailbox<Reject>> rejects;
  std::unique_ptr<Runtime> runtime;
  std::unique_ptr<Mailbox<std::shared_ptr<Question>>> questions;  // A source of the worker's scheduler.
  store::bridge::BridgeStore* bridge = nullptr;
  std::thread thread;
  std::atomic<std::thread::id> own_thread{};  // The id of 'thread' while it works.
  bool started = false;
  std::atomic<bool> ended{false};
  std::atomic<Instant> drain_end{};
  std::atomic<std::uint64_t> unreported_rejects{0};
  std::uint64_t untaken = 0;
  std::uint64_t unanswered = 0;  // Used by the home thread only.
};

Worker::Worker(Runtime& home, WorkerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {
  Impl& p = *impl_;
  RONDO_EXPECT(!p.options.name.empty(), "a Worker has no name");
  RONDO_EXPECT(home.impl_->bridge == nullptr, "worker '" + p.options.name + "' has a worker's runtime for its home");
  p.home = &home;
  p.home_end = std::make_unique<store::bridge::HomeBridge>(home.scheduler(), home.store(),
                                                           store::bridge::Options{.name = p.options.name,
                                                                                  .requests = p.options.requests,
                                                                                  .ring_changes = p.options.ring_changes,
                                                                                  .requests_max = p.options.requests_max});
  p.rejects = std::make_unique<Mailbox<Reject>>(p.options.name + " rejects", p.options.requests, [&p](Reject&& given) {
    const Reject reject = std::move(given);  // Moved out of the mailbox first: on_reject may stop the worker, which empties the mailbox.
    if (const auto& told = p.home->impl_->on_reject) told(reject.table, reject.change, reject.why);
  });
  home.scheduler().add(*p.rejects);

  RuntimeOptions inner;
  inner.policy = p.options.policy;
  inner.clock = p.options.clock;
  inner.reactor = p.options.reactor;
  inner.observer = std::move(p.options.observer);
  inner.log_rejects = false;  // The home runtime reports them.
  inner.store = [&p](Scheduler& scheduler) {
    auto bridge = std::make_unique<store::bridge::BridgeStore>(scheduler, *p.home_end);
    p.bridge = bridge.get();
    return bridge;
  };
  p.runtime = std::make_unique<Runtime>(std::move(inner));
  p.runtime->impl_->bridge = p.bridge;
  if (home.impl_->log != nullptr) p.runtime->impl_->log_quarantines(*home.impl_->log);
  if (home.impl_->port == nullptr) home.impl_->join(std::make_shared<SharedFacts>());
  p.runtime->impl_->join(home.impl_->port->shared_facts_ptr());
  p.runtime->on_reject([&p](std::string_view table, const Change& change, const Status& why) {
    if (!p.rejects->post({std::string{table}, change, why}).ok()) p.unreported_rejects.fetch_add(1, std::memory_order_relaxed);
  });
  p.questions = std::make_unique<Mailbox<std::shared_ptr<Question>>>(p.options.name + " questions", kQuestions,
                                                                     [&p](std::shared_ptr<Question>&& question) {
                                                                       question->what(*p.runtime);
                                                                       question->answered.set_value();
                                                                     });
  p.runtime->scheduler().add(*p.questions);
  home.impl_->workers.push_back(this);
}

Worker::~Worker() {
  leave_home();
  impl_->questions.reset();
  impl_->runtime.reset();
}

void Worker::leave_home() {
  Impl& p = *impl_;
  if (p.home == nullptr) return;
  stop();
  p.report_rejects();
  p.runtime->on_reject({});
  if (p.home->impl_->log != nullptr) p.runtime->scheduler().on_quarantine({});
  p.rejects.reset();
  p.home_end->close();
  std::erase(p.home->impl_->workers, this);
  p.home = nullptr;
}

bool Worker::ask(std::function<void(Runtime&)> what) {
  Impl& p = *impl_;
  if (!p.thread.joinable()) {
    what(*p.runtime);
    return true;
  }
  if (has_stopped_itself()) return false;
  const auto question = std::make_shared<Question>();
  question->what = std::move(what);
  std::future<void> answered = question->answered.get_future();
  if (!p.questions->post(std::shared_ptr<Question>{question}).ok()) return false;
  if (answered.wait_for(limits::kWorkerAskWait) == std::future_status::ready) return true;
  ++p.unanswered;
  return false;
}

bool Worker::consumes(std::string_view table) const { return impl_->home_end->consumes(table); }

const Worker* Runtime::worker_of(std::string_view table) const {
  const auto found = std::ranges::find_if(impl_->workers, [table](const Worker* worker) { return worker->consumes(table); });
  return found == impl_->workers.end() ? nullptr : *found;
}

Runtime& Worker::runtime() noexcept { return *impl_->runtime; }
const std::string& Worker::name() const noexcept { return impl_->options.name; }
bool Worker::running() const noexcept { return impl_->thread.joinable() && !impl_->ended.load(std::memory_order_acquire); }
bool Worker::has_stopped_itself() const noexcept {
  const Impl& p = *impl_;
  return p.thread.joinable() && p.ended.load(std::memory_order_acquire) && p.drain_end.load(std::memory_order_acquire) == Instant{};
}

Runtime& Worker::runtime_for_adding() {
  RONDO_EXPECT(!impl_->started, "Worker::add of worker '" + name() + "' after start()");
  return *impl_->runtime;
}

Status Worker::start() {
  Impl& p = *impl_;
  const std::string about = "worker '" + p.options.name + "'";
  if (p.started || p.home == nullptr) return {StatusCode::FailedPrecondition, about + " was started before, or its home is gone"};
  p.started = true;
  std::promise<Status> promise;
  std::future<Status> settled = promise.get_future();
  p.home_end->threaded(true);
  try {
    p.thread = std::thread([&p, given = std::move(promise)]() mutable { p.work(std::move(given)); });
  } catch (const std::system_error& error) {
    p.home_end->threaded(false);
    return {StatusCode::ResourceExhausted, about + ": no thread: " + error.what()};
  }
  Status status = settled.get();
  if (!status.ok()) {
    p.thread.join();
    p.home_end->threaded(false);
  }
  return status.with_context(about);
}

Status Worker::Impl::prepare_thread() const {
  ::pthread_setname_np(::pthread_self(), options.name.substr(0, kThreadNameBytes).c_str());
  if (Status refused = pin_thread(::pthread_self(), options.cpus); !refused.ok()) return refused;
  return options.nice == 0 ? Status{} : set_thread_nice(options.nice);
}

void Worker::Impl::work(std::promise<Status> settled) {
  Status status = prepare_thread();
  std::unique_ptr<StallWatchdog> watchdog;
  if (status.ok() && options.watchdog) {
    Result<std::unique_ptr<StallWatchdog>> made = StallWatchdog::start(runtime->scheduler(), *std::move(options.watchdog));
    if (made) watchdog = std::move(*made);
    if (!made) status = std::move(made.error());
  }
  own_thread = std::this_thread::get_id();
  settled.set_value(status);
  if (!status.ok()) return;
  runtime->run();
  // The worker must stop: the tables deliver nothing new. Pending changes are handled until the deadline.
  Scheduler& scheduler = runtime->scheduler();
  const Instant told = drain_end.load(std::memory_order_acquire);
  // Without drain_end, its own runtime stopped it.
  const Instant deadline = told != Instant{} ? told : scheduler.clock().now() + options.drain;
  while (scheduler.turn() && scheduler.clock().now() < deadline) {
  }
  own_thread = std::thread::id{};
  ended.store(true, std::memory_order_release);
  home_end->signal(true);
}

/// Called after the worker's thread has ended, so no further rejects arrive. A turn may end after any reject, and no other turn follows,
/// hence the loop.
void Worker::Impl::report_rejects() {
  while (rejects->has_backlog()) rejects->run(Budget{.items = UINT32_MAX, .time = Duration::max()});
}

void Worker::stop() { stop(impl_->options.drain); }

void Worker::stop(Duration drain) {
  Impl& p = *impl_;
  RONDO_EXPECT(p.own_thread != std::this_thread::get_id(),
               "Worker::stop of worker '" + name() + "' was called in a turn of that worker; call it on the home runtime's thread");
  if (!p.thread.joinable()) return;
  p.drain_end.store(p.runtime->clock().now() + drain, std::memory_order_release);
  p.home_end->listen_for_signals();
  p.home_end->pause();
  p.runtime->stop();
  // The worker may still write while it handles the rest, and then waits for the home thread. So the home thread serves it while it waits.
  while (p.home_end->serve(), !p.ended.load(std::memory_order_acquire)) p.home_end->wait_for_signal();
  p.thread.join();
  p.runtime->scheduler().move_here();
  p.home_end->threaded(false);
  p.home_end->serve();
  p.untaken = p.bridge->untaken();
  for (const auto& [table, consumer] : p.runtime->impl_->consumers) p.untaken += consumer->ledger().new_rows();
  p.report_rejects();
}

WorkerStats Worker::stats() const {
  const Impl& p = *impl_;
  return {.refused_writes = p.home_end->refused_writes(),
          .unreported_rejects = p.unreported_rejects.load(std::memory_order_relaxed),
          .untaken = p.untaken,
          .full_rings = p.home_end->link().full_rings,
          .refused_requests = p.home_end->refused_requests(),
          .late_calls = p.home_end->late_calls(),
          .unanswered = p.unanswered,
          .facts_forgotten = p.runtime->impl_->port->shared_facts().forgotten()};
}

}  // namespace rondo
