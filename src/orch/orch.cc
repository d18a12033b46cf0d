#include "rondo/orch/orch.h"

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "orch/consumer.h"
#include "orch/fact_observer.h"
#include "orch/handler_fault.h"
#include "orch/listener.h"
#include "orch/runtime_impl.h"
#include "rondo/base/assert.h"
#include "rondo/base/limits.h"
#include "rondo/sched/timer.h"

namespace rondo {

struct Orch::Impl {
  std::vector<std::unique_ptr<Consumer>> consumers;
  std::vector<std::unique_ptr<Listener>> listeners;
  std::vector<std::unique_ptr<FactObserver>> observers;
  std::vector<std::unique_ptr<TimerSource>> timers;
  std::vector<FactKind> provided;
  // By target of stage_on(): the consumers that wait for its room, in the order in which they began to, as in a replay.
  std::map<const void*, std::vector<Consumer*>> held_for;
  std::shared_ptr<void> life = std::make_shared<int>();  // Destroyed with the Orch; weak references detect that.
};

Orch::Orch(Runtime& runtime, std::string name, Priority priority)
    : runtime_(runtime), name_(std::move(name)), priority_(priority), impl_(std::make_unique<Impl>()) {
  if (name_.empty()) refuse({StatusCode::InvalidArgument, "its name is empty"});
  runtime_.impl_->orch_names.insert(name_);
}

Orch::~Orch() {
  Runtime::Impl& shared = *runtime_.impl_;
  for (const auto& consumer : impl_->consumers) {
    const auto known = shared.consumers.find(consumer->table());
    if (known != shared.consumers.end() && known->second == consumer.get()) shared.consumers.erase(known);
  }
  for (const auto& observer : impl_->observers)
    std::erase_if(shared.fact_observers, [&](const auto& o) { return o.second == observer.get(); });
  for (const FactKind kind : impl_->provided) shared.facts.retire_provider(kind);
}

namespace {

/// The subscription of a table that was refused: it has no changes.
class NoSubscription final : public Subscription {
 public:
  void on_ready(std::function<void()>) override {}
  std::size_t take(std::size_t, std::vector<Change>&) override { return 0; }
  bool empty() const override { return true; }
  std::size_t depth() const override { return 0; }
  bool take_gap() override { return false; }
  void requeue(std::string_view) override {}
  bool caught_up() const override { return true; }
};

Result<std::unique_ptr<Subscription>> declare_and_subscribe(Store& store, store::bridge::BridgeStore* bridge, std::string_view table,
                                                            TableKind kind, const SubscribeOptions& options, Priority priority) {
  const std::vector<TableSpec> known = store.tables();
  const auto it = std::ranges::find(known, table, &TableSpec::name);
  if (it == known.end()) {
    TableSpec spec;
    spec.name = std::string{table};
    spec.kind = kind;
    if (Status declared = store.declare(spec); !declared.ok()) return failure(std::move(declared));
  } else if (it->kind != kind) {  // Another component declared it before, perhaps with its own limit.
    return failure(StatusCode::FailedPrecondition,
                   "it is declared as " + std::string{to_string(it->kind)} + ", and not as " + std::string{to_string(kind)});
  }
  return bridge != nullptr ? bridge->subscribe(table, options, priority) : store.subscribe(table, options);
}

}  // namespace

std::string Orch::called(std::string_view function, std::string_view what) const {
  return from_elsewhere("Orch " + quoted(name_) + ": " + std::string{function} + " of " + std::string{what});
}

void Orch::refuse(const Status& why) {
  const Status named = why.with_context("Orch " + quoted(name_));
  Runtime::Impl::Adding* const adding = runtime_.impl_->adding;
  RONDO_EXPECT(adding != nullptr, named.to_string() + "; in its constructor Runtime::try_add would answer so");
  adding->refuse(named);
}

/// A refusal is recorded, because a replay has no such store and must refuse again.
std::unique_ptr<Subscription> Orch::open_table(std::string_view table, TableKind kind, const SubscribeOptions& options, Priority priority) {
  Runtime::Impl& shared = *runtime_.impl_;
  Result<std::unique_ptr<Subscription>> opened = declare_and_subscribe(*shared.store, shared.bridge, table, kind, options, priority);
  if (opened) return std::move(*opened);
  for (RuntimeEvents* const one : shared.observers) one->table_refused(opened.error());
  refuse(opened.error().with_context("table " + quoted(table)));
  return nullptr;
}

/// The Orchs of ConsumeOptions::needs, without this one.
std::vector<std::string> Orch::providers_of(std::string_view table, std::span<const FactKind> kinds) {
  std::vector<std::string> providers;
  if (runtime_.impl_->is_replay) return providers;  // The record has when the table began.
  for (const FactKind kind : kinds) {
    std::string provider = runtime_.impl_->facts.provider(kind);
    if (provider.empty()) {
      refuse({StatusCode::FailedPrecondition, "table " + quoted(table) + " needs facts of the kind " + quoted(kind.name()) +
                                                  ", which no Orch provides yet: add their provider first"});
    }
    if (provider != name_) providers.push_back(std::move(provider));
  }
  return providers;
}

Consumer& Orch::add_consumer(std::string_view table, std::function<Outcome(const Change&)> handle, BatchHandler handle_batch,
                             const ConsumeOptions& options, std::shared_ptr<Objects> objects) {
  Runtime::Impl& shared = *runtime_.impl_;
  const std::string about = "Orch " + quoted(name_) + " consumes table " + quoted(table);
  RONDO_EXPECT(shared.scheduler->is_here(), called("consume()", table));
  RONDO_EXPECT(options.kind == TableKind::Staged || options.kind == TableKind::Watched,
               about + " as a " + std::string{to_string(options.kind)} + "; that kind is for listen()");
  RONDO_EXPECT(options.weight >= 1 && options.weight <= limits::kWeightMost,
               about + " with the weight " + std::to_string(options.weight) + "; it is from 1 to " + std::to_string(limits::kWeightMost));
  RONDO_EXPECT(!(options.keeps_rows || objects) || (options.rows == Rows::Whole && options.standing_rows),
               about + " and keeps its rows, without Rows::Whole or without standing_rows");
  if (options.keeps_rows && !objects) objects = std::make_shared<Objects>(ObjectOf{}, Reconcile{});
  const Priority priority = options.priority.value_or(priority_);
  const auto other = shared.consumers.find(table);
  std::unique_ptr<Subscription> subscription;
  if (other != shared.consumers.end()) {
    refuse({StatusCode::FailedPrecondition, "table " + quoted(table) + " has a consumer: Orch " + quoted(other->second->orch())});
  } else {
    subscription = open_table(table, options.kind, {options.rows, options.standing_rows}, priority);
  }
  const bool is_refused = subscription == nullptr;
  if (is_refused) subscription = std::make_unique<NoSubscription>();
  auto consumer =
      std::make_unique<Consumer>(Consumer::Identity{std::string{table}, name_, priority, providers_of(table, options.needs)}, options,
                                 std::move(subscription), std::move(handle), std::move(handle_batch), std::move(objects),
                                 Consumer::Services{*shared.scheduler, shared.facts, shared.observers, shared.on_reject, shared.current,
                                                    shared.consumers, shared.standing});
  Consumer& reference = *consumer;
  if (!is_refused) shared.consumers.emplace(std::string{table}, &reference);
  if (!reference.awaited_table().empty() || reference.may_begin()) {
    if (shared.standing == nullptr) shared.standing = std::make_unique<StandingRows>(*shared.scheduler, shared.consumers);
    shared.standing->wake();
  }
  impl_->consumers.push_back(std::move(consumer));
  return reference;
}

Consumer& Orch::consume(std::string_view table, SetHandler set, RemoveHandler remove, ConsumeOptions options) {
  RONDO_EXPECT(set && remove, "Orch " + quoted(name_) + " consumes table " + quoted(table) + " without a handler of Sets or of Deletes");
  return add_consumer(
      table,
      [set = std::move(set), remove = std::move(remove)](const Change& change) {
        return change.op() == ChangeOp::Delete ? remove(change.key()) : set(change.key(), change.fields());
      },
      {}, options);
}

Consumer& Orch::consume_batches(std::string_view table, BatchHandler apply, ConsumeOptions options) {
  RONDO_EXPECT(static_cast<bool>(apply), "Orch " + quoted(name_) + " consumes table " + quoted(table) + " without a handler of batches");
  return add_consumer(table, {}, std::move(apply), options);
}

std::vector<ConsumerHandle> Orch::consume_into(const std::vector<std::string_view>& tables, ObjectOf object_of, Reconcile reconcile,
                                               ConsumeOptions options) {
  RONDO_EXPECT(!tables.empty() && object_of && reconcile, "Orch " + quoted(name_) + ": consume_into() without tables or a function");
  options.set_replaces_delete = true;  // The Deletes that an object has before its Sets do not matter to it.
  const auto objects = std::make_shared<Objects>(std::move(object_of), std::move(reconcile));
  std::vector<ConsumerHandle> consumers;
  for (const std::string_view table : tables) consumers.emplace_back(add_consumer(table, {}, {}, options, objects));
  return consumers;
}

std::vector<Record> Orch::rows(ConsumerHandle handle, std::string_view prefix) const {
  const Consumer& consumer = named(handle, "rows()");
  RONDO_EXPECT(consumer.keeps_rows(), called("rows()", consumer.table()) + " without ConsumeOptions::keeps_rows");
  return consumer.rows(prefix);
}

void Orch::listen(std::string_view channel, EventHandler handler, TableKind kind, std::function<void()> on_gap) {
  Runtime::Impl& shared = *runtime_.impl_;
  const std::string about = "Orch " + quoted(name_) + " listens to " + quoted(channel);
  RONDO_EXPECT(shared.scheduler->is_here(), called("listen()", channel));
  RONDO_EXPECT(kind == TableKind::Channel || kind == TableKind::Queue,
               about + " as a " + std::string{to_string(kind)} + "; that kind is for consume()");
  RONDO_EXPECT(static_cast<bool>(handler), about + " without a handler");
  std::unique_ptr<Subscription> subscription = open_table(channel, kind, {}, priority_);
  if (subscription == nullptr) subscription = std::make_unique<NoSubscription>();
  auto listener = std::make_unique<Listener>(
      std::string{channel}, priority_, std::move(subscription), std::move(handler), std::move(on_gap),
      [&shared, name = std::string{channel}](const Change& event, const std::exception_ptr& thrown) {
        shared.report_thrown(name, event, thrown);
      },
      shared.observers);
  shared.scheduler->add(*listener);
  listener->start();
  impl_->listeners.push_back(std::move(listener));
}

void Orch::provide(FactKind kind, std::function<bool(std::string_view key)> holds) {
  FactIndex& facts = runtime_.impl_->facts;
  RONDO_EXPECT(runtime_.impl_->scheduler->is_here(), called("provide()", kind.name()));
  RONDO_EXPECT(static_cast<bool>(holds), "Orch " + quoted(name_) + " provides " + quoted(kind.name()) + " and does not say what holds");
  if (const std::string other = facts.provider(kind); !other.empty()) {
    return refuse({StatusCode::FailedPrecondition, "facts of the kind " + quoted(kind.name()) + " have a provider: Orch " + quoted(other)});
  }
  facts.provide(kind, name_, std::move(holds));
  impl_->provided.push_back(kind);
}

/// A false statement about a fact makes the data plane wrong: rows would be handled, or left waiting, because of another Orch's mistake.
void Orch::expect_provided(const Fact& fact, std::string_view function) const {
  Runtime::Impl& shared = *runtime_.impl_;
  RONDO_EXPECT(shared.scheduler->is_here(), called(function, fact.to_string()));
  const auto says_wrong = [&] {
    const std::string provider = shared.facts.provider(fact.kind);
    return "Orch " + quoted(name_) + ": " + std::string{function} + " of " + fact.to_string() + ", a fact that " +
           (provider.empty() ? "no Orch provides; call provide() first" : "Orch " + quoted(provider) + " provides");
  };
  RONDO_EXPECT(std::ranges::find(impl_->provided, fact.kind) != impl_->provided.end(), says_wrong());
}

void Orch::every(Duration period, std::function<void()> handler) {
  Runtime::Impl& shared = *runtime_.impl_;
  const std::string name = name_ + " timer";
  RONDO_EXPECT(shared.scheduler->is_here(), called("every()", "a timer"));
  RONDO_EXPECT(period > Duration{0} && handler,
               "Orch " + quoted(name_) + ": every() with a period that is not above 0, or without a handler");
  auto timer = std::make_unique<TimerSource>(name, priority_, [&shared, name, handler = std::move(handler)] {
    try {
      handler();
    } catch (...) {
      shared.report_thrown(name, Change::event("due", "every", {}), std::current_exception());
    }
  });
  shared.scheduler->add(*timer);
  timer->arm_every(period, shared.scheduler->now() + period);
  impl_->timers.push_back(std::move(timer));
}

Status Orch::write(std::string_view table, Change change, WriteDone done) {
  Runtime::Impl& shared = *runtime_.impl_;
  RONDO_EXPECT(shared.scheduler->is_here(), called("write()", table));
  return shared.write(table, std::move(change), std::move(done));
}

Status Orch::run_elsewhere_job(std::unique_ptr<elsewhere::Job> job) {
  job->owner = impl_->life;
  job->has_owner = true;
  return runtime_.run_elsewhere_job(std::move(job), priority_);
}

void Orch::announce(const Fact& fact) {
  Runtime::Impl& shared = *runtime_.impl_;
  expect_provided(fact, "announce()");
  for (RuntimeEvents* const one : shared.observers) one->announcing(fact);
  shared.resolved(fact, shared.facts.announce_everywhere(fact));
  shared.notify_fact_observers(fact, true);
}

void Orch::withdraw(const Fact& fact) {
  Runtime::Impl& shared = *runtime_.impl_;
  expect_provided(fact, "withdraw()");
  for (RuntimeEvents* const one : shared.observers) {
    one->withdrawing(fact);
    one->withdrawn(fact);
  }
  shared.facts.withdraw(fact);
  shared.notify_fact_observers(fact, false);
}

bool Orch::holds(const Fact& fact) const {
  const Runtime::Impl& shared = *runtime_.impl_;
  RONDO_EXPECT(shared.scheduler->is_here(), called("holds()", fact.to_string()));
  return shared.facts.holds(fact);
}

bool Orch::is_awaited(const Fact& fact) const {
  const Runtime::Impl& shared = *runtime_.impl_;
  RONDO_EXPECT(shared.scheduler->is_here(), called("is_awaited()", fact.to_string()));
  return shared.facts.is_awaited(fact);
}

void Orch::observe(FactKind kind, std::function<void(std::string_view key, bool holds)> handler) {
  Runtime::Impl& shared = *runtime_.impl_;
  RONDO_EXPECT(shared.scheduler->is_here(), called("observe()", kind.name()));
  const std::string name = name_ + " observes " + std::string{kind.name()};
  auto observer = std::make_unique<FactObserver>(name, priority_, std::move(handler),
                                                 [&shared, name](std::string_view key, bool holds, const std::exception_ptr& thrown) {
                                                   shared.report_thrown(name, Change::event(holds ? "begins" : "ends", key, {}), thrown);
                                                 });
  shared.scheduler->add(*observer);
  shared.fact_observers.emplace_back(kind, observer.get());
  shared.observed.push_back(kind);
  shared.facts.observe(kind);
  impl_->observers.push_back(std::move(observer));
}

Ticket Orch::current_ticket() const {
  const Runtime::Impl& shared = *runtime_.impl_;
  RONDO_EXPECT(shared.scheduler->is_here(), called("current_ticket()", "a change"));
  RONDO_EXPECT(shared.current.consumer != nullptr,
               "Orch " + quoted(name_) + ": current_ticket() outside of a handler of single changes; a batch has Batch::stage()");
  return shared.current;
}

void Orch::settle(const Ticket& ticket, const Outcome& outcome) {
  RONDO_EXPECT(ticket.consumer != nullptr, "Orch " + quoted(name_) + " settles a Ticket that names no change");
  RONDO_EXPECT(runtime_.impl_->scheduler->is_here(), called("settle()", "a change of " + quoted(ticket.consumer->table())));
  RONDO_EXPECT(outcome.kind() != Outcome::Kind::Staged,
               "Orch " + quoted(name_) + " settles a change of " + quoted(ticket.consumer->table()) + " as staged() again");
  ticket.consumer->settle(ticket, outcome);
}

Consumer& Orch::named(ConsumerHandle handle, std::string_view function, std::string_view key) const {
  RONDO_EXPECT(static_cast<bool>(handle), "Orch " + quoted(name_) + ": " + std::string{function} + " with an empty ConsumerHandle");
  Consumer& consumer = *handle.consumer_;
  RONDO_EXPECT(runtime_.impl_->scheduler->is_here(), called(function, consumer.table() + (key.empty() ? "" : " " + quoted(key))));
  return consumer;
}

void Orch::hold(ConsumerHandle consumer) { named(consumer, "hold()").hold(); }
void Orch::release(ConsumerHandle consumer) { named(consumer, "release()").release(); }
void Orch::requeue(ConsumerHandle consumer, std::string_view key) { named(consumer, "requeue()", key).requeue(key); }

std::weak_ptr<void> Orch::life() const { return impl_->life; }
bool Orch::begins_to_stage_on(const void* target) { return impl_->held_for.try_emplace(target).second; }

void Orch::hold_for(const void* target, const Ticket& ticket) {
  std::vector<Consumer*>& held = impl_->held_for[target];
  if (std::ranges::find(held, ticket.consumer) == held.end()) held.push_back(ticket.consumer);
  ticket.consumer->hold();
}

void Orch::release_held_for(const void* target) {
  for (Consumer* const consumer : std::exchange(impl_->held_for[target], {})) consumer->release();
}

void Orch::settle_with(const Ticket& ticket, const std::function<Outcome()>& outcome_of) {
  Ticket& current = runtime_.impl_->current;
  const Ticket before = std::exchange(current, ticket);
  std::optional<Outcome> outcome;
  try {
    outcome = outcome_of();
  } catch (...) {
    outcome = Outcome::reject(status_of_exception(std::current_exception()));
  }
  current = before;
  if (outcome->kind() != Outcome::Kind::Staged) settle(ticket, *outcome);
}

}  // namespace rondo
