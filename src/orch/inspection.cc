#include "orch/inspection.h"

#include <algorithm>
#include <string>

#include "rondo/store/record.h"

namespace rondo {

namespace {

Status fault(std::string what) { return {StatusCode::Internal, std::move(what)}; }

}  // namespace

Status Inspection::check() const {
  if (Status bad = check_list(ledger_.new_, Ledger::kNone, Ledger::State::Queued); !bad.ok()) return bad;
  if (Status bad = check_waiting(); !bad.ok()) return bad;
  if (Status bad = check_resolved(); !bad.ok()) return bad;
  if (Status bad = check_index(); !bad.ok()) return bad;
  if (Status bad = check_bound(); !bad.ok()) return bad;
  return check_rows();
}

Status Inspection::wrong(std::uint32_t row, const char* what) const { return fault("row " + quoted(ledger_.key(row)) + " " + what); }

/// Checks the rows of one list: linked both ways, as many as its count, each in 'state' and with 'of' as its list.
Status Inspection::check_list(const Ledger::List& list, std::uint32_t of, Ledger::State state) const {
  std::uint32_t rows = 0;
  std::uint32_t previous = Ledger::kNone;
  for (std::uint32_t row = list.head; row != Ledger::kNone; row = ledger_.rows_[row].next) {
    const Ledger::Row& r = ledger_.rows_[row];
    if (++rows > list.count) return fault("a list has more rows than its count of " + std::to_string(list.count));
    if (r.state != state || r.list != of) return wrong(row, "is in a list that is not its own");
    if (r.previous != previous) return wrong(row, "is linked wrongly");
    previous = row;
  }
  if (rows != list.count || list.tail != previous) return fault("a list has fewer rows than its count of " + std::to_string(list.count));
  return {};
}

Status Inspection::check_waiting() const {
  std::size_t parked = 0;
  for (std::uint32_t id = ledger_.first_list_; id != Ledger::kNone; id = ledger_.lists_[id].next) {
    const Ledger::WaitList& list = ledger_.lists_[id];
    if (list.resolved) return fault("a resolved list is among those that wait");
    if (Status bad = check_list(list, id, Ledger::State::Parked); !bad.ok()) return bad;
    parked += list.count;
    if (list.fact == Ledger::kNone) {
      if (id != ledger_.timed_list_) return fault("a list waits for nothing");
      continue;
    }
    if (list.is_unused()) return fault("an empty list waits for a fact");
    std::uint32_t alternatives = 0;
    for (std::uint32_t at = list.any.head; at != Ledger::kNone; at = ledger_.alternatives_[at].next, ++alternatives) {
      const Ledger::Alternative& one = ledger_.alternatives_[at];
      if (one.list != id || ledger_.state(one.row) != Ledger::State::Parked) return fault("a list has an alternative that is not its own");
    }
    if (alternatives != list.any.count) return fault("a list has another count of alternatives than alternatives");
    if (list.fact >= index_.entries_.limit()) return fault("a list waits for a fact that the index does not know");
    const FactIndex::Entry& entry = index_.entries_[list.fact];
    const bool known =
        std::ranges::any_of(entry.waiters, [&](const FactIndex::Waiter& waiter) { return waiter.ledger == &ledger_ && waiter.list == id; });
    if (!known) return fault("the index does not know the rows that wait for " + entry.fact.to_string());
    for (std::uint32_t row = list.head; row != Ledger::kNone; row = ledger_.rows_[row].next) {
      if (ledger_.rows_[row].extra == nullptr) continue;  // The row stores no facts: the list's is its only one.
      const std::vector<Fact> facts = ledger_.facts_of(row, index_);
      if (facts.empty() || facts.front() != entry.fact) return wrong(row, "is listed under another fact than it remembers");
    }
  }
  if (parked != ledger_.parked_)
    return fault("the count of parked rows is " + std::to_string(ledger_.parked_) + " and not " + std::to_string(parked));
  return {};
}

Status Inspection::check_resolved() const {
  std::size_t resolved = 0;
  for (const std::uint32_t id : ledger_.resolved_) {
    const Ledger::WaitList& list = ledger_.lists_[id];
    if (!list.resolved || list.count == 0) return fault("a list among the resolved ones is not, or is empty");
    if (Status bad = check_list(list, id, Ledger::State::Parked); !bad.ok()) return bad;
    resolved += list.count;
  }
  if (resolved != ledger_.resolved_rows_) {
    return fault("the count of resolved rows is " + std::to_string(ledger_.resolved_rows_) + " and not " + std::to_string(resolved));
  }
  return {};
}

Status Inspection::check_index() const {
  for (std::uint32_t slot = 0; slot < index_.entries_.limit(); ++slot) {
    const FactIndex::Entry& entry = index_.entries_[slot];
    for (const FactIndex::Waiter& waiter : entry.waiters) {
      if (waiter.ledger != &ledger_) continue;
      const Ledger::WaitList& list = ledger_.lists_[waiter.list];
      if (list.resolved || list.fact != slot)
        return fault("the index knows rows that wait for " + entry.fact.to_string() + ", and there are none");
    }
  }
  return {};
}

Status Inspection::check_bound_list(std::uint32_t id) const {
  const BoundRows& bound = ledger_.bound();
  const BoundRows::List& list = bound.lists_[id];
  std::uint32_t nodes = 0;
  std::uint32_t previous = BoundRows::kNone;
  for (std::uint32_t node = list.head; node != BoundRows::kNone; node = bound.nodes_.link(node).next) {
    const BoundRows::Link& link = bound.nodes_.link(node);
    if (++nodes > list.count || link.list != id || link.previous != previous) return fault("a list of bound rows is linked wrongly");
    const Record& record = bound.nodes_.record(node);
    if (bound.find(record.key(), record.key_hash()) == BoundRows::kNone) {
      return fault("bound row " + quoted(record.key()) + " is not found by its key");
    }
    previous = node;
  }
  return nodes == list.count ? Status{} : fault("a list of bound rows has another count than rows");
}

Status Inspection::check_bound() const {
  const BoundRows& bound = ledger_.bound();
  std::size_t ended = 0;
  for (std::uint32_t id = 0; id < bound.lists_.limit(); ++id) {
    const bool is_ended = std::ranges::find(bound.ended_, id) != bound.ended_.end();
    const std::uint32_t slot = bound.lists_[id].slot;
    if (!is_ended && slot == BoundRows::kNone) continue;  // Free.
    if (Status bad = check_bound_list(id); !bad.ok()) return bad;
    if (is_ended) ended += bound.lists_[id].count;
    if (is_ended != (slot == BoundRows::kNone)) return fault("a list of bound rows is among those whose fact has ended, and is not");
    if (is_ended) continue;
    const bool known =
        std::ranges::any_of(index_.bound(slot), [&](const FactIndex::Waiter& one) { return one.ledger == &ledger_ && one.list == id; });
    if (!known || bound.lists_[id].count == 0) return fault("the index does not know the rows bound to " + index_.fact(slot).to_string());
  }
  return ended == bound.ended_nodes_ ? Status{} : fault("the count of ended rows is " + std::to_string(bound.ended_nodes_));
}

Status Inspection::check_rows() const {
  std::size_t in_flight = 0;
  std::size_t live = 0;
  for (std::uint32_t row = 0; row < ledger_.rows_.limit(); ++row) {
    const Ledger::Row& r = ledger_.rows_[row];
    if (r.state == Ledger::State::Free) continue;
    ++live;
    if (ledger_.find(ledger_.key(row)) != row) return wrong(row, "is not found by its key");
    if (r.state == Ledger::State::InFlight) {
      ++in_flight;
      if (!r.flight) return wrong(row, "is in flight without a change");
    } else if (r.flight || (!r.has_delete && !r.has_set)) {
      return wrong(row, "waits without a change");
    }
  }
  if (in_flight != ledger_.in_flight_) return fault("the count of rows in flight is " + std::to_string(ledger_.in_flight_));
  if (live != ledger_.size() || live != ledger_.queued() + ledger_.parked() + ledger_.in_flight()) {
    return fault(std::to_string(live) + " rows are not those that are queued, parked or in flight");
  }
  return {};
}

}  // namespace rondo
