// ledger_bound.cc: the rows of a ledger that are done while facts hold.
#include "orch/fact_index.h"
#include "orch/ledger.h"
#include "rondo/base/assert.h"

namespace rondo {

void Ledger::bind(std::uint32_t row, std::span<const Fact> facts, FactIndex& index) {
  RONDO_ASSERT(rows_[row].state == State::InFlight && !rows_[row].flight_is_delete);
  bound_.bind(*this, rows_[row].flight, facts, index);
  settle(row);
}

void Ledger::unbind(const Record& record, FactIndex& index) {
  if (bound_.empty()) return;
  const std::uint32_t bound = bound_.find(record.key(), record.key_hash());
  if (bound != kNone) bound_.remove(*this, bound, index);
}

std::size_t Ledger::release(std::uint32_t list) {
  const std::size_t rows = bound_.release(list);
  wake_();
  return rows;
}

void Ledger::release_row(std::uint32_t bound, FactIndex& index) {
  if (bound_.is_held(bound)) return;
  bound_.hold(*this, bound, false, index);
  bound_.release_held(bound);
  wake_();
}

bool Ledger::take_end_in_flight(std::uint32_t row, FactIndex& index) {
  if (bound_.empty()) return false;
  const std::uint32_t bound = bound_.find(rows_[row].flight.key(), rows_[row].flight.key_hash());
  if (bound == kNone || !bound_.is_held_in_flight(bound)) return false;
  bound_.hold(*this, bound, false, index);
  return true;
}

void Ledger::release_if_held(std::uint32_t row) {
  if (bound_.empty()) return;
  const std::uint32_t bound = bound_.find(rows_[row].flight.key(), rows_[row].flight.key_hash());
  if (bound == kNone || !bound_.is_held(bound)) return;
  bound_.release_held(bound);
  wake_();
}

Ledger::Ended Ledger::take_ended(Instant now, FactIndex& index) {
  const std::uint32_t bound = bound_.front_ended();
  RONDO_ASSERT(bound != kNone);
  const std::uint32_t row = find(bound_.record(bound).key());
  if (row == kNone) return {.task = take_again(bound, now, index)};
  bound_.hold(*this, bound, rows_[row].state == State::InFlight, index);
  if (rows_[row].state != State::Parked || is_resolved(row)) return {};
  leave_wait(row, index);
  rows_[row].since = now;
  enqueue(row);
  return {.queued = row};
}

Ledger::Task Ledger::take_done(const Record& record, Instant now, FactIndex& index) {
  const std::uint32_t row = add_row(record);
  unbind(record, index);
  return start_again(row, record, now);
}

Ledger::Task Ledger::take_again(std::uint32_t bound, Instant now, FactIndex& index) {
  const std::uint32_t row = add_row(bound_.record(bound));
  return start_again(row, bound_.remove(*this, bound, index), now);
}

Ledger::Task Ledger::start_again(std::uint32_t row, Record record, Instant now) {
  Row& r = rows_[row];
  r.record = std::move(record);
  r.has_set = true;
  r.since = now;
  r.redone = true;
  return start(row);
}

}  // namespace rondo
