#include "rondo/orch/orch.h"

#include <algorithm>
#include <utility>

#include "message/seat.h"
#include "orch/consumer.h"
#include "orch/handler_fault.h"
#include "orch/listener.h"
#include "orch/observer.h"
#include "orch/runtime_parts.h"
#include "rondo/base/assert.h"

namespace rondo {

struct Orch::Parts {
  std::vector<std::unique_ptr<Consumer>> consumers;
  std::vector<std::unique_ptr<Listener>> listeners;
  std::vector<std::unique_ptr<Observer>> observers;
  std::vector<ConstraintKind> provided;
  std::unique_ptr<message::Seat> seat;  // Until the Orch is whole; then it belongs to the runtime's agents.
  Address address;
  bool is_whole = false;
};

Orch::Orch(Runtime& runtime, std::string name, Priority priority)
    : runtime_(runtime), name_(std::move(name)), priority_(priority), parts_(std::make_unique<Parts>()) {}

Orch::~Orch() {
  Runtime::Parts& shared = *runtime_.parts_;
  for (const auto& consumer : parts_->consumers) shared.consumers.erase(consumer->table());
  for (const auto& observer : parts_->observers) std::erase_if(shared.observers, [&](const auto& o) { return o.second == observer.get(); });
  for (const ConstraintKind kind : parts_->provided) shared.constraints.retire_provider(kind);
}

namespace {

std::unique_ptr<Subscription> open_table(Store& store, store::bridge::BridgeStore* bridge, std::string_view table, TableKind kind,
                                         const SubscribeOptions& options, Priority priority) {
  const std::vector<TableSpec> known = store.tables();
  const auto it = std::ranges::find(known, table, &TableSpec::name);
  if (it == known.end()) {
    TableSpec spec;
    spec.name = std::string{table};
    spec.kind = kind;
    const Status declared = store.declare(spec);
    RONDO_ASSERT(declared.ok());
  } else {
    RONDO_ASSERT(it->kind == kind);  // Somebody declared it before, perhaps with a limit of its own.
  }
  Result<std::unique_ptr<Subscription>> subscription =
      bridge != nullptr ? bridge->subscribe(table, options, priority) : store.subscribe(table, options);
  RONDO_ASSERT(subscription.has_value());
  return std::move(*subscription);
}

}  // namespace

Consumer& Orch::add_consumer(std::string_view table, std::function<Outcome(const Change&)> handle, BatchHandler handle_batch,
                             const ConsumeOptions& options) {
  Runtime::Parts& shared = *runtime_.parts_;
  RONDO_ASSERT(options.kind == TableKind::Staged || options.kind == TableKind::Watched);
  const Priority priority = options.priority.value_or(priority_);
  auto consumer = std::make_unique<Consumer>(
      Consumer::Identity{std::string{table}, name_, priority}, options,
      open_table(*shared.store, shared.bridge, table, options.kind, {options.rows, options.standing_rows}, priority), std::move(handle),
      std::move(handle_batch),
      Consumer::Services{*shared.scheduler, shared.constraints, *shared.journal, shared.on_reject, shared.current, shared.witness});
  Consumer& reference = *consumer;
  const bool first = shared.consumers.emplace(std::string{table}, &reference).second;
  RONDO_ASSERT(first);
  parts_->consumers.push_back(std::move(consumer));
  return reference;
}

Consumer& Orch::consume(std::string_view table, SetHandler set, RemoveHandler remove, ConsumeOptions options) {
  return add_consumer(
      table,
      [set = std::move(set), remove = std::move(remove)](const Change& change) {
        return change.op() == Op::Delete ? remove(change.key()) : set(change.key(), change.fields());
      },
      {}, options);
}

Consumer& Orch::consume_batches(std::string_view table, BatchHandler apply, ConsumeOptions options) {
  return add_consumer(table, {}, std::move(apply), options);
}

void Orch::listen(std::string_view channel, EventHandler handler, ListenOptions options) {
  Runtime::Parts& shared = *runtime_.parts_;
  RONDO_ASSERT(options.kind == TableKind::Channel || options.kind == TableKind::Queue);
  const Priority priority = options.priority.value_or(priority_);
  auto listener = std::make_unique<Listener>(
      std::string{channel}, priority, open_table(*shared.store, shared.bridge, channel, options.kind, {}, priority), std::move(handler),
      std::move(options.on_gap),
      [&shared, name = std::string{channel}](const Change& event, const std::exception_ptr& thrown) {
        if (!shared.on_reject) return;
        shared.on_reject(name, event, status_of_exception(thrown).with_context(name + " " + quoted(event.key())));
      },
      *shared.journal);
  shared.scheduler->add(*listener);
  listener->start();
  parts_->listeners.push_back(std::move(listener));
}

void Orch::provide(ConstraintKind kind, std::function<bool(std::string_view key)> holds) {
  runtime_.parts_->constraints.provide(kind, name_, std::move(holds));
  parts_->provided.push_back(kind);
}

Status Orch::write(std::string_view table, Change change, WriteDone done) {
  Runtime::Parts& shared = *runtime_.parts_;
  JournalRecorder& journal = *shared.journal;
  if (!journal.on()) return shared.store->write(table, std::move(change), std::move(done));
  if (done) {
    done = [&journal, number = ++shared.writes, done = std::move(done)](const Status& end) {
      journal.write_ended(number, end);
      done(end);
    };
  }
  Status accepted = shared.store->write(table, std::move(change), std::move(done));
  if (!accepted.ok()) journal.write_refused(accepted);
  return accepted;
}

void Orch::announce(const Constraint& fact) {
  Runtime::Parts& shared = *runtime_.parts_;
  if (shared.witness != nullptr) shared.witness->announced(fact);
  shared.resolved(fact, shared.constraints.announce_everywhere(fact));
  shared.tell_observers(fact, true);
}

void Orch::withdraw(const Constraint& fact) {
  Runtime::Parts& shared = *runtime_.parts_;
  if (shared.witness != nullptr) shared.witness->withdrawn(fact);
  shared.journal->withdrawn(fact);
  shared.constraints.withdraw(fact);
  shared.tell_observers(fact, false);
}

bool Orch::holds(const Constraint& fact) const { return runtime_.parts_->constraints.holds(fact); }

bool Orch::is_awaited(const Constraint& fact) const { return runtime_.parts_->constraints.is_awaited(fact); }

void Orch::observe(ConstraintKind kind, std::function<void(std::string_view key, bool holds)> handler) {
  Runtime::Parts& shared = *runtime_.parts_;
  const std::string name = name_ + " observes " + std::string{kind.name()};
  auto observer = std::make_unique<Observer>(name, priority_, std::move(handler),
                                             [&shared, name](std::string_view key, bool holds, const std::exception_ptr& thrown) {
                                               if (!shared.on_reject) return;
                                               shared.on_reject(name, Change::event(holds ? "begins" : "ends", key, {}),
                                                                status_of_exception(thrown).with_context(name + " " + quoted(key)));
                                             });
  shared.scheduler->add(*observer);
  shared.observers.emplace_back(kind, observer.get());
  shared.observed.push_back(kind);
  shared.constraints.observe(kind);
  parts_->observers.push_back(std::move(observer));
}

Ticket Orch::current_ticket() const { return runtime_.parts_->current; }

void Orch::settle(const Ticket& ticket, const Outcome& outcome) {
  RONDO_ASSERT(ticket.consumer != nullptr && outcome.kind() != Outcome::Kind::Staged);
  ticket.consumer->settle(ticket, outcome);
}

void Orch::requeue(Consumer& consumer, std::string_view key) { consumer.requeue(key); }
void Orch::hold(Consumer& consumer) { consumer.hold(); }
void Orch::release(Consumer& consumer) { consumer.release(); }

message::Seat& Orch::seat() {
  RONDO_ASSERT(!parts_->is_whole);
  if (parts_->seat == nullptr) parts_->seat = message::Seat::make(runtime_.agents(), name_, priority_);
  return *parts_->seat;
}

Address Orch::address() {
  if (!parts_->address) parts_->address = seat().address();
  return parts_->address;
}

void Orch::add_handler(const message::Handler& handler) {
  seat().add(handler);
  static_cast<void>(address());
}

Status Orch::add_subscription(const std::shared_ptr<message::TopicCore>& topic, const message::Handler& handler) {
  return seat().add(topic, handler);
}

void Orch::add_limit(const message::MessageType& type, const Limit& limit, const message::KeyOf& key) { seat().add(type, limit, key); }

void Orch::take_seat() {
  parts_->is_whole = true;
  if (parts_->seat != nullptr) message::Seat::take(std::move(parts_->seat), runtime_.agents());
}

}  // namespace rondo
