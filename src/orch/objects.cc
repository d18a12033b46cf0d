#include "orch/objects.h"

#include <algorithm>
#include <exception>
#include <optional>

#include "orch/consumer.h"
#include "orch/handler_fault.h"
#include "rondo/base/limits.h"
#include "rondo/sched/scheduler.h"

namespace rondo {

std::uint32_t Objects::add(Consumer& consumer) {
  consumers_.push_back(&consumer);
  return static_cast<std::uint32_t>(consumers_.size() - 1);
}

Outcome Objects::reconcile(std::string_view key, const Object& object) const {
  std::vector<TableRow> rows;
  rows.reserve(object.rows.size());
  for (const Row& row : object.rows) {
    if (row.is_present) rows.push_back({consumers_[row.table]->table(), row.record});
  }
  return reconcile_(name(key), rows);
}

/// A Delete stays until it is settled, so that its object finds it.
void Objects::take(std::uint32_t table, const Change& change) {
  Object& object = of(change.key());
  const auto before = object.rows.find(ByKey::Name{table, change.key()});
  if (before != object.rows.end()) object.rows.erase(before);
  const bool is_set = change.op() == ChangeOp::Set;
  if (is_set || is_reconciled()) object.rows.insert({table, change.record(), is_set});
}

void Objects::forget(std::uint32_t table, std::string_view key) {
  const auto object = objects_.find(name(key));
  if (object == objects_.end()) return;
  Object& o = object->second;
  const auto row = o.rows.find(ByKey::Name{table, key});
  if (row != o.rows.end() && !row->is_present) o.rows.erase(row);
  if (o.rows.empty() && o.flight.empty() && o.late.empty()) objects_.erase(object);
}

std::vector<Record> Objects::rows(std::uint32_t table, std::string_view prefix) const {
  std::vector<Record> found;
  for (const auto& [name, object] : objects_) {
    for (auto row = object.rows.lower_bound(ByKey::Name{table, prefix}); row != object.rows.end(); ++row) {
      if (row->table != table || !row->record.key().starts_with(prefix)) break;
      if (row->is_present) found.push_back(row->record);
    }
  }
  return found;
}

bool Objects::are_listed() const {
  return has_begun_ ||
         std::ranges::all_of(consumers_, [](const Consumer* one) { return one->has_taken_first_rows() || one->has_no_room(); });
}

bool Objects::begin_when_listed() {
  if (has_begun_) return true;
  if (!are_listed()) return false;
  has_begun_ = true;
  for (Consumer* const one : consumers_) {
    if (one->has_backlog()) one->wake();
  }
  return true;
}

// --- Consumer: rows that are handled together

/// Calls the function that reconciles the object of 'task' for this and all other changes of the object.
void Consumer::run_object(const Ledger::Task& task) {
  Objects::Object& object = objects_->of(task.change.key());
  const Ticket ticket{this, task.row, task.generation};
  if (!object.flight.empty()) {
    object.late.push_back(ticket);
    ++late_;
    return;
  }
  object.flight.push_back(ticket);
  for (const Objects::Row& row : object.rows) objects_->consumers()[row.table]->pull(row, object.flight);
  const bool has_set = std::ranges::any_of(object.flight, is_set);
  for (auto row = object.rows.begin(); !has_set && row != object.rows.end(); ++row) {
    if (objects_->consumers()[row->table]->pull_present(*row, object.flight)) break;
  }
  for (const Ticket& one : object.flight) one.consumer->ask(one);
  services_.current = ticket;
  std::optional<Outcome> outcome;
  try {
    outcome = objects_->reconcile(task.change.key(), object);
  } catch (...) {
    ++stats_.thrown;
    const Status fault = status_of_exception(std::current_exception());
    const bool is_memory = fault.code() == StatusCode::ResourceExhausted;
    outcome = is_memory ? Outcome::retry_after(limits::kMemoryRetry, fault) : Outcome::reject(fault);
  }
  services_.current = Ticket{};
  if (outcome->kind() != Outcome::Kind::Staged) return settle_object(object, *outcome, false);
  for (const Ticket& one : object.flight) one.consumer->observers_.ordered(one.row);
}

/// Takes the change of the row that waits, if there is one. A resolved row that is not among the next ones is handled soon anyway.
void Consumer::pull(const Objects::Row& object_row, std::vector<Ticket>& flight) {
  const std::uint32_t row = ledger_.find(object_row.record.key());
  if (row == Ledger::kNone) return;
  if (ledger_.state(row) == Ledger::State::Parked && ledger_.unpark(row, services_.scheduler.now(), services_.facts)) {
    observers_.requeued(row);
  }
  if (ledger_.state(row) != Ledger::State::Queued) return;
  flight.push_back({this, row, ledger_.take_queued(row).generation});
  ++stats_.handled;
}

/// For an object of which only Deletes are in flight: takes a row that is done, as the one that waits or is rejected in their place.
bool Consumer::pull_present(const Objects::Row& object_row, std::vector<Ticket>& flight) {
  if (!object_row.is_present || has_no_room() || ledger_.find(object_row.record.key()) != Ledger::kNone) return false;
  const Ledger::Task task = ledger_.take_done(object_row.record, services_.scheduler.now(), services_.facts);
  ++stats_.redone;
  ++stats_.handled;
  observers_.redone(task.row, task.change);
  flight.push_back({this, task.row, task.generation});
  return true;
}

bool Consumer::is_set(const Ticket& ticket) { return ticket.consumer->ledger_.op(ticket.row) == ChangeOp::Set; }

void Consumer::ask(const Ticket& ticket) {
  ledger_.set_asked(ticket.row, services_.facts.ends());
  observers_.handled(Change{ledger_.op(ticket.row), ledger_.flight(ticket.row)});
}

/// Gives the changes in flight the outcome of their object, and queues those that came meanwhile. The outcome counts for all rows of the
/// object: it ends their rejections, and replaces the facts that they depend on. One row depends on the new facts in place of all. While
/// the object has rows, a Delete is not rejected with them: nothing would end that rejection.
void Consumer::settle_object(Objects::Object& object, const Outcome& outcome, bool was_staged) {
  using Kind = Outcome::Kind;
  const std::vector<Ticket> flight = std::exchange(object.flight, {});
  const std::vector<Ticket> late = std::exchange(object.late, {});
  const bool is_applied = outcome.kind() == Kind::Done || outcome.kind() == Kind::DoneWhile || outcome.is_removed();
  for (const Objects::Row& row : object.rows) {
    Consumer& of = *objects_->consumers()[row.table];
    if (outcome.kind() != Kind::Reject && !of.rejections_.empty()) of.rejections_.forget(row.record.key());
    if (is_applied) of.ledger_.unbind(row.record, of.services_.facts);
  }
  // From here on 'object' may be gone.
  const auto first = std::ranges::find_if(flight, is_set);
  for (auto one = flight.begin(); one != flight.end(); ++one) {
    const bool is_done =
        first != flight.end() && ((outcome.kind() == Kind::DoneWhile && one != first) || (outcome.kind() == Kind::Reject && !is_set(*one)));
    one->consumer->answer(*one, is_done ? Outcome::done() : outcome);
  }
  for (const Ticket& one : late) {
    --one.consumer->late_;
    Ledger& ledger = one.consumer->ledger_;
    ledger.is_replaced(one.row) ? ledger.settle(one.row) : ledger.requeue(one.row);
  }
  if (was_staged) {
    for (const Ticket& one : flight) one.consumer->note_settled();
  }
  for (Consumer* const one : objects_->consumers()) {
    if (one == this && !was_staged) continue;  // Its turn goes on.
    one->note_standing_rows();
    if (one->ready()) one->wake();
  }
}

void Consumer::answer(const Ticket& ticket, const Outcome& outcome) {
  const Change change{ledger_.op(ticket.row), ledger_.flight(ticket.row)};
  try {
    answer(ticket.row, change, outcome);
  } catch (...) {  // An allocation failed.
    const Status fault = status_of_exception(std::current_exception());
    if (ledger_.is_current(ticket.row, ticket.generation)) answer_fault(ticket.row, change, fault);
  }
}

}  // namespace rondo
