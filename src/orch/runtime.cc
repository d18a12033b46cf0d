#include "rondo/orch/runtime.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "orch/handler_fault.h"
#include "orch/runtime_impl.h"
#include "rondo/base/assert.h"
#include "rondo/base/limits.h"
#include "rondo/store/memory_store.h"

namespace rondo {

Result<std::unique_ptr<Runtime::Impl>> Runtime::make_parts(RuntimeOptions options) {
  auto parts = std::make_unique<Impl>();
  Impl& p = *parts;
  p.clock = options.clock != nullptr ? options.clock : &p.system_clock;
  Reactor* reactor = options.reactor;
  if (reactor == nullptr) {
    Result<std::unique_ptr<Reactor>> made = make_epoll_reactor();
    if (!made) return failure(made.error().with_context("making the runtime's reactor"));
    p.own_reactor = std::move(*made);
    reactor = p.own_reactor.get();
  }
  Result<std::unique_ptr<Policy>> policy = make_policy(options.policy);
  if (!policy) return failure(policy.error().with_context("the runtime's policy"));
  if (options.elsewhere_threads < 1 || options.elsewhere_threads > limits::kExecutorThreads) {
    return failure(StatusCode::InvalidArgument, "RuntimeOptions::elsewhere_threads is " + std::to_string(options.elsewhere_threads) +
                                                    ", and 1 to " + std::to_string(limits::kExecutorThreads) + " are possible");
  }
  p.observer = std::move(options.observer);
  p.scheduler = std::make_unique<Scheduler>(*p.clock, *reactor, std::move(*policy));
  p.elsewhere_threads = options.elsewhere_threads;
  p.is_replay = options.replayed != nullptr;
  if (p.is_replay) p.scheduler->set_overrides(options.replayed->turns);
  p.executors = std::make_unique<RuntimeExecutors>(p.is_replay ? options.replayed->executors : nullptr);
  p.scheduler->set_executor_host(p.executors.get());
  if (p.observer != nullptr) {
    RuntimeEvents& events = p.observer->events();
    p.observers.add(events);
    events.started(p.scheduler->now(), p.scheduler->policy().settings());
    p.scheduler->observe(events.turn_observer());
    p.executors->record(events.executor_journal());
  }
  Result<std::unique_ptr<Store>> store = options.store ? options.store(*p.scheduler) : make_memory_store(*p.scheduler);
  if (!store) return failure(store.error().with_context("opening the store"));
  if (*store == nullptr) return failure(StatusCode::InvalidArgument, "RuntimeOptions::store made no store");
  p.store = std::move(*store);
  p.sweep = std::make_unique<FactSweep>(
      *p.scheduler, p.facts, [&p](const Fact& fact, bool holds) { p.found(fact, holds); },
      [&p](const Fact& fact, const std::exception_ptr& thrown) {
        p.report_thrown(p.facts.provider(fact.kind), Change::event("holds", fact.to_string(), {}), thrown);
      });
  if (options.log_rejects) p.log_rejects();
  p.posted = std::make_unique<PostBox>(*p.scheduler, options.posted, [&p](const std::exception_ptr& thrown) {
    p.report_thrown("post", Change::event("throws", "function", {}), thrown);
  });
  return parts;
}

Runtime::Runtime(std::unique_ptr<Impl> parts) : impl_(std::move(parts)) {}

Runtime::Runtime(RuntimeOptions options) {
  Result<std::unique_ptr<Impl>> parts = make_parts(std::move(options));
  RONDO_EXPECT(parts.has_value(), "a Runtime cannot be made: " + parts.error().to_string() + "; use Runtime::open to be told");
  impl_ = std::move(*parts);
}

Result<std::unique_ptr<Runtime>> Runtime::open(RuntimeOptions options) {
  Result<std::unique_ptr<Impl>> parts = make_parts(std::move(options));
  if (!parts) return failure(std::move(parts).error());
  return std::unique_ptr<Runtime>{new Runtime(std::move(*parts))};
}

RuntimeObserver::~RuntimeObserver() = default;
RuntimeEvents::~RuntimeEvents() = default;

Runtime::~Runtime() {
  RONDO_EXPECT(!impl_->scheduler->runs_elsewhere(), "a Runtime is destroyed while another thread runs it; stop() it, and join that thread");
  impl_->scheduler->expect_same_process("the end of a Runtime");
  impl_->scheduler->move_here();  // Objects that are destroyed may withdraw facts.
  impl_->is_ending = true;
  impl_->elsewhere.reset();  // First: running jobs may use what is destroyed after it.
  while (!impl_->workers.empty()) impl_->workers.back()->leave_home();
  // In reverse order: an Orch may use an Orch that was added before it.
  while (!impl_->orchs.empty()) impl_->orchs.pop_back();
  for (auto part = impl_->parts.rbegin(); part != impl_->parts.rend(); ++part) (*part)->end();
  impl_->parts.clear();
}

void Runtime::Impl::join(std::shared_ptr<SharedFacts> shared) {
  port = std::make_unique<FactPort>(*scheduler, std::move(shared), [this](const FactPort::Notification& notification) {
    switch (notification.what) {
      case FactPort::Notification::What::Announced: resolved(notification.fact, facts.announce(notification.fact)); return;
      case FactPort::Notification::What::Asked:
        port->shared_facts().answer(port->subscriber(), notification.fact, facts.holds(notification.fact));
        return;
      case FactPort::Notification::What::Began: notify_fact_observers(notification.fact, true); return;
      case FactPort::Notification::What::Ended:
        facts.end(notification.fact);
        notify_fact_observers(notification.fact, false);
        return;
    }
  });
  facts.connect(*port);
  for (const FactKind kind : observed) facts.observe(kind);
}

void Runtime::Impl::resolved(const Fact& fact, std::size_t rows) {
  for (RuntimeEvents* const one : observers) one->announced(fact, rows);
  if (rows == 0) return;
  for (const auto& [table, consumer] : consumers) {
    consumer->observers().resolved(fact, facts);
  }
}

void Runtime::Impl::found(const Fact& fact, bool holds) {
  ++(holds ? forgotten.announcements : forgotten.withdrawals);
  forgotten.newest =
      fact.to_string() + (holds ? " holds, but was not announced by " : " ended, but was not withdrawn by ") + facts.provider(fact.kind);
  if (holds) {
    resolved(fact, facts.announce_everywhere(fact));
  } else {
    for (RuntimeEvents* const one : observers) one->withdrawn(fact);
    facts.withdraw(fact);
  }
  notify_fact_observers(fact, holds);
}

void Runtime::Impl::notify_fact_observers(const Fact& fact, bool holds) {
  for (const auto& [kind, fact_observer] : fact_observers) {
    if (kind == fact.kind) fact_observer->notify(fact.key, holds);
  }
}

Runtime::Impl::Adding::Adding(Impl& of) : parts(of), outer(std::exchange(of.adding, this)) {}

Runtime::Impl::Adding::~Adding() {
  parts.adding = outer;
  std::erase_if(parts.explained, [this](const Explained& one) {
    if (one.by != this) return false;
    one.is_state ? parts.states.erase(one.name) : parts.origins.erase(one.name);
    return true;
  });
}

Status Runtime::add_made(const std::function<std::unique_ptr<Orch>()>& make) {
  impl_->expect_here("add");
  Impl::Adding adding(*impl_);
  auto orch = make();
  if (!adding.refused.ok()) return adding.refused;
  impl_->orchs.push_back(std::move(orch));
  impl_->orchs.back()->on_added();
  std::erase_if(impl_->explained, [&adding](const Impl::Explained& one) { return one.by == &adding; });
  return {};
}

void Runtime::cannot_add(const Status& why) {
  expectation_failed("Runtime::add: " + why.to_string() + "; use Runtime::try_add to be told", __FILE__, __LINE__);
}

Status Runtime::post(std::function<void()> function) {
  if (!function) return {StatusCode::InvalidArgument, "Runtime::post was given an empty function"};
  return impl_->posted->post(std::move(function));
}

Table Runtime::table(std::string_view name) {
  Impl& p = *impl_;
  p.expect_here("table", name);
  if (p.written_tables.contains(name)) return Table{*this, std::string{name}};
  const std::vector<TableSpec> known = p.store->tables();
  if (std::ranges::none_of(known, [&](const TableSpec& spec) { return spec.name == name; })) {
    TableSpec spec;
    spec.name = std::string{name};
    Status declared = p.store->declare(spec);
    // FailedPrecondition: the table exists with another kind, declared meanwhile by another component, or by a home runtime that has not
    // reported it yet.
    if (!declared.ok() && declared.code() != StatusCode::FailedPrecondition) return Table{*this, std::string{name}, std::move(declared)};
  }
  p.written_tables.emplace(name);
  return Table{*this, std::string{name}};
}

Status Table::write(Change change) {
  Runtime::Impl& p = *runtime_->impl_;
  RONDO_EXPECT(p.scheduler->is_here(), from_elsewhere("Table::set, remove or write of " + name_));
  // In a replay the store answers as recorded, also for a table that it would refuse.
  return p.reported(refused_.ok() ? p.store->write(name_, std::move(change), {}) : refused_);
}

Status Runtime::Impl::write(std::string_view table, Change change, WriteDone done) {
  if (done && !observers.empty()) {
    done = [this, number = ++writes, done = std::move(done)](const Status& end) {
      for (RuntimeEvents* const one : observers) one->write_ended(number, end);
      done(end);
    };
  }
  return reported(store->write(table, std::move(change), std::move(done)));
}

void Runtime::add_part(std::unique_ptr<RuntimePart> part) {
  impl_->expect_here("add_part");
  RONDO_EXPECT(find_part(typeid(*part)) == nullptr, std::string{"the runtime has a part of this type: "} + typeid(*part).name());
  impl_->parts.push_back(std::move(part));
}

RuntimePart* Runtime::find_part(const std::type_info& type) const noexcept {
  impl_->expect_here("find_part");
  const auto found = std::ranges::find_if(impl_->parts, [&](const auto& part) { return typeid(*part) == type; });
  return found != impl_->parts.end() ? found->get() : nullptr;
}

void Runtime::Impl::report_thrown(std::string_view where, const Change& change, const std::exception_ptr& thrown) const {
  if (on_reject) on_reject(where, change, status_of_exception(thrown).with_context(std::string{where} + " " + quoted(change.key())));
}

void Runtime::Impl::log_rejects() {
  log = std::make_unique<Log>(*clock);
  on_reject = [this](std::string_view, const Change& change, const Status& why) {  // 'why' contains table and key.
    if (change.op() == ChangeOp::Event) {
      log->warn(change.verb() == "call" ? "call failed" : "handler failed", {{"why", why}});
    } else {
      log->warn("change rejected", {{"op", to_string(change.op())}, {"why", why}});
    }
  };
  log_quarantines(*log);
}

void Runtime::Impl::log_quarantines(Log& to) {
  scheduler->on_quarantine([&to](const Source& source, const Status& why) {
    to.error("source quarantined: it gets no more turns", {{"source", source.name()}, {"why", why}});
  });
}

Status Runtime::run_elsewhere_job(std::unique_ptr<elsewhere::Job> job, Priority priority) {
  Impl& p = *impl_;
  p.expect_here("run_elsewhere");
  if (p.is_ending) return {StatusCode::Cancelled, "the runtime ends"};
  if (p.elsewhere == nullptr) {
    // A runtime whose clock is simulated is deterministic, so its pool has no threads.
    const bool is_real = dynamic_cast<const SystemClock*>(p.clock) != nullptr;
    Result<std::unique_ptr<Elsewhere>> made = Elsewhere::make(
        *p.scheduler, !is_real, p.elsewhere_threads,
        [&p](const std::exception_ptr& thrown) { p.report_thrown(Elsewhere::kName, Change::event("throws", "function", {}), thrown); });
    if (!made) return made.error();
    p.elsewhere = std::move(*made);
  }
  return p.elsewhere->run(std::move(job), priority);
}

Scheduler& Runtime::scheduler() noexcept { return *impl_->scheduler; }
Store& Runtime::store() noexcept { return *impl_->store; }
const Clock& Runtime::clock() const noexcept { return *impl_->clock; }
RuntimeObserver* Runtime::observer() const noexcept { return impl_->observer.get(); }

void Runtime::run() { impl_->scheduler->run(); }
std::uint64_t Runtime::run_until_idle(std::uint64_t max_turns) { return impl_->scheduler->run_until_idle(max_turns); }
void Runtime::stop() noexcept { impl_->scheduler->stop(); }

void Runtime::on_reject(std::function<void(std::string_view, const Change&, const Status&)> callback) {
  impl_->expect_here("on_reject");
  impl_->on_reject = std::move(callback);
}

void Runtime::report_reject(std::string_view table, const Change& change, const Status& why) const {
  impl_->expect_here("report_reject");
  if (impl_->on_reject) impl_->on_reject(table, change, why);
}

std::vector<ConsumerStats> Runtime::consumers() const {
  impl_->expect_here("consumers");
  std::vector<ConsumerStats> all;
  for (const auto& [table, consumer] : impl_->consumers) {
    all.push_back(consumer->stats());
    const auto teller = impl_->states.find(table);
    if (teller == impl_->states.end() || !teller->second.counts) continue;
    try {
      all.back().plane = teller->second.counts();
    } catch (...) {
      all.back().plane.reset();  // The states of single rows say what their function threw.
    }
  }
  for (std::vector<ConsumerStats>& theirs : ask_workers<std::vector<ConsumerStats>>([](Runtime& worker) { return worker.consumers(); })) {
    std::ranges::move(theirs, std::back_inserter(all));
  }
  return all;
}

std::vector<std::string> Runtime::standstills(std::size_t max) const {
  impl_->expect_here("standstills");
  std::vector<std::string> found;
  impl_->scheduler->for_each_source([&](const Source& source) {
    if (source.quarantine().ok() || found.size() >= max) return;
    found.push_back("source " + std::string{source.name()} + " is quarantined: " + std::string{source.quarantine().message()});
  });
  for (const Worker* const worker : impl_->workers) {
    if (worker->has_stopped_itself() && found.size() < max) {
      found.push_back("worker " + quoted(worker->name()) + " was stopped by its own code, and handles its tables no more");
    }
  }
  for (const std::string& table : impl_->written_tables) {
    if (found.size() < max) impl_->add_unconsumed(table, worker_of(table) != nullptr, found);
  }
  using Found = std::vector<std::string>;
  for (Found& theirs : ask_workers<Found>([max](Runtime& worker) { return worker.standstills(max); })) {
    for (std::string& one : theirs) {
      if (found.size() < max) found.push_back(std::move(one) + " (on a worker)");
    }
  }
  return found;
}

/// A table on a server may have its consumer in another process.
void Runtime::Impl::add_unconsumed(const std::string& table, bool is_of_worker, std::vector<std::string>& found) const {
  if (is_of_worker || bridge != nullptr || consumers.contains(table) || store->write_answer(table) == WriteAnswer::Confirmed) return;
  const Result<Store::Size> size = store->size(table);
  if (!size || size->staged == 0) return;
  found.push_back("no Orch consumes the table " + quoted(table) +
                  ", which this program writes: keys that wait in it: " + std::to_string(size->staged));
}

const ForgottenFacts& Runtime::forgotten_facts() const {
  impl_->expect_here("forgotten_facts");
  return impl_->forgotten;
}

std::size_t Runtime::awaited_facts() const {
  impl_->expect_here("awaited_facts");
  return impl_->facts.size();
}

Status Runtime::no_tap(std::string_view table) const {
  if (const Worker* const worker = worker_of(table)) {
    return {StatusCode::Unimplemented, "the Orch that consumes the table " + quoted(table) + " runs on worker " + quoted(worker->name()) +
                                           ", whose rows cannot be watched or waited for"};
  }
  return {StatusCode::NotFound, "no Orch of this program consumes the table " + quoted(table)};
}

Result<std::unique_ptr<RowTap>> Runtime::tap(std::string_view table, std::function<void(const RowEvent& event)> listener) {
  impl_->expect_here("tap");
  const auto consumer = impl_->consumers.find(table);
  if (consumer == impl_->consumers.end()) return failure(no_tap(table));
  if (!listener) return failure(StatusCode::InvalidArgument, "the listener of table " + quoted(table) + " is an empty function");
  return consumer->second->observers().taps().add(std::move(listener));
}

Result<std::unique_ptr<RowTap>> Runtime::tap_row(std::string_view table, std::string_view key,
                                                 std::function<void(const RowEvent& event)> listener) {
  impl_->expect_here("tap_row");
  const auto consumer = impl_->consumers.find(table);
  if (consumer == impl_->consumers.end()) return failure(no_tap(table));
  if (!listener) return failure(StatusCode::InvalidArgument, "the listener of table " + quoted(table) + " is an empty function");
  return consumer->second->observers().taps().add(key, std::move(listener));
}

Result<std::unique_ptr<RowTap>> Runtime::tap_taken(std::string_view table, std::function<void(const Change& change)> listener) {
  impl_->expect_here("tap_taken");
  const auto consumer = impl_->consumers.find(table);
  if (consumer == impl_->consumers.end()) return failure(no_tap(table));
  if (!listener) return failure(StatusCode::InvalidArgument, "the listener of table " + quoted(table) + " is an empty function");
  return consumer->second->observers().taps().add_taken(std::move(listener));
}

void Runtime::explain(FactKind kind, std::function<FactOrigin(std::string_view key)> origin_of) {
  impl_->expect_here("explain");
  explain(kind, [origin_of = std::move(origin_of)](std::string_view key) { return std::vector<FactOrigin>{origin_of(key)}; });
}

void Runtime::explain(FactKind kind, std::function<std::vector<FactOrigin>(std::string_view key)> origins_of) {
  impl_->expect_here("explain");
  impl_->origins.insert_or_assign(std::string{kind.name()}, std::move(origins_of));
  if (impl_->adding != nullptr) impl_->explained.push_back({impl_->adding, false, std::string{kind.name()}});
}

void Runtime::reserve(std::string_view table, std::string why) {
  impl_->expect_here("reserve");
  impl_->reserved.insert_or_assign(std::string{table}, std::move(why));
}

Status Runtime::check_reserved(std::string_view table) const {
  impl_->expect_here("check_reserved");
  const auto found = impl_->reserved.find(table);
  if (found == impl_->reserved.end()) return {};
  return {StatusCode::FailedPrecondition, "table " + found->first + " is not for commands: " + found->second};
}

void Runtime::explain_state(std::string_view table, StateOf state_of, std::function<PlaneCounts()> counts) {
  impl_->expect_here("explain_state");
  impl_->states.insert_or_assign(std::string{table}, Impl::StateTeller{std::move(state_of), std::move(counts)});
  if (impl_->adding != nullptr) impl_->explained.push_back({impl_->adding, true, std::string{table}});
}

}  // namespace rondo
