// RowAccount: the only path by which a consumer reports what happens to its rows. Its readers are the journal, row taps
// (rondo/orch/row_tap.h), and in simulation a witness (orch/witness.h). No other code in a consumer knows any of the three. Each call
// costs one branch for an absent reader. Scheduler's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "orch/constraint_index.h"
#include "orch/journal_recorder.h"
#include "orch/ledger.h"
#include "orch/witness.h"
#include "rondo/base/clock.h"
#include "rondo/orch/row_tap.h"

namespace rondo {

class RowAccount {
 public:
  /// All arguments must outlive it; 'witness' may be null. 'ledger' holds the rows of 'consumer'.
  RowAccount(const Consumer& consumer, std::string_view table, const Ledger& ledger, const Clock& clock, JournalRecorder& journal,
             Witness* witness)
      : consumer_(consumer),
        table_(table),
        name_(journal.name(table)),
        ledger_(ledger),
        clock_(clock),
        journal_(journal),
        witness_(witness) {}
  ~RowAccount();
  RowAccount(const RowAccount&) = delete;
  RowAccount& operator=(const RowAccount&) = delete;

  // --- The table.

  /// The subscription has changes to take.
  void became_ready() { journal_.became_ready(name_); }
  /// 'count' changes were taken; a taken() and a merged() for each follow. 'empty': nothing is left to take.
  void took(std::size_t count, bool empty) {
    if (count > 0) journal_.took(name_, count, empty);
  }
  /// Called before the change is merged with the waiting change in the ledger.
  void taken(const Change& change) {
    if (tapped()) tell({.what = RowEvent::What::Taken, .key = change.key(), .op = change.op(), .change = &change});
    if (witness_ != nullptr) witness_->taken(consumer_, change);
  }
  void merged(const Change& change, Ledger::Merged how) {
    journal_.changed(name_, ledger_.merged_row(), change);
    if (how == Ledger::Merged::Unparked) journal_.unparked(name_, ledger_.merged_row(), change);
  }

  // --- The handler.

  /// A row that had waited is handled again.
  void retried(std::uint32_t row, const Change& change) {
    journal_.retried(name_, row, change);
    if (tapped()) tell_row(RowEvent::What::Retried, row);
    if (witness_ != nullptr) witness_->chosen(consumer_, change);
  }
  /// A done row is handled again: a fact that it depended on has ended.
  void redone(std::uint32_t row, const Change& change) {
    journal_.redone(name_, row, change);
    if (tapped()) tell_row(RowEvent::What::Redone, row);
    if (witness_ != nullptr) witness_->redone(consumer_, change);
  }
  /// As redone(), for a row whose newer change waits: that change is queued.
  void queued_by_end(std::uint32_t row);
  /// The handler is about to be called. For a batch: one call for each change, before the handler's.
  void asked(const Change& change) {
    if (witness_ != nullptr) witness_->asked(consumer_, change);
  }
  /// The outcome of the change, before its row changes; the functions below report the row's new state afterwards.
  void answered(const Change& change, Witness::Answer answer, std::span<const Constraint> facts = {}, Instant until = {}) {
    if (witness_ != nullptr) witness_->answered(consumer_, change, answer, facts, until);
  }
  /// As answered(), for a row that settles. Its change is built only if a witness is attached.
  void settles(std::uint32_t row, Witness::Answer answer) {
    if (witness_ != nullptr) answered(Change{ledger_.op(row), ledger_.flight(row)}, answer);
  }

  // --- The row.

  void ordered(std::uint32_t row) {
    journal_.staged(name_, row);
    if (tapped()) tell_row(RowEvent::What::Ordered, row);
  }
  void done(std::uint32_t row) {
    journal_.done(name_, row);
    if (tapped()) tell_row(RowEvent::What::Done, row);
  }
  void done_while(std::uint32_t row, std::span<const Constraint> facts) {
    journal_.done_while(name_, row, facts);
    if (tapped()) tell({.what = RowEvent::What::Done, .key = ledger_.key(row), .op = ledger_.op(row), .facts = facts});
  }
  /// Queued again immediately.
  void again(std::uint32_t row) { journal_.again(name_, row); }
  void parked(std::uint32_t row, const Change& change, std::span<const Constraint> facts) {
    journal_.parked(name_, row, change, facts);
    if (tapped()) tell({.what = RowEvent::What::Parked, .key = ledger_.key(row), .op = ledger_.op(row), .facts = facts});
  }
  /// The change is a Delete that is dropped: the Set behind it is queued.
  void gave_way(std::uint32_t row, const Change& change, std::span<const Constraint> facts) {
    journal_.again(name_, row);
    if (tapped()) tell({.what = RowEvent::What::GaveWay, .key = change.key(), .op = change.op(), .facts = facts});
  }
  /// A row whose turn had come now waits for 'fact'.
  void still_parked(std::uint32_t row, const Constraint& fact) { journal_.still_parked(name_, row, fact); }
  /// True if still_parked() has a reader.
  bool is_recorded() const noexcept { return journal_.on(); }
  void delayed(std::uint32_t row, const Change& change, Duration delay, const Status& why);
  void rejected(std::uint32_t row, const Change& change, const Status& why) {
    journal_.rejected(name_, row, change, why);
    if (tapped()) tell_row(RowEvent::What::Rejected, row, &why);
  }

  /// A change that its row has no room for. Journal and witness already have it as a taken change and receive nothing more. A replay
  /// refuses it again, and the tables of a simulation keep their rows within the limits.
  void refused(const Change& change, const Status& why) {
    if (tapped()) tell({.what = RowEvent::What::Rejected, .key = change.key(), .op = change.op(), .why = &why});
  }

  // --- Row taps.

  /// See RowTap.
  std::unique_ptr<RowTap> tap(RowTap::Listener listener);
  /// 'fact' was announced by its provider in 'index', and rows of this consumer may have waited for it.
  void resolved(const Constraint& fact, const ConstraintIndex& index) {
    if (tapped()) tell({.what = RowEvent::What::Resolved, .facts = {&fact, 1}, .provider = index.provider(fact.kind)});
  }

 private:
  friend class RowTap;
  bool tapped() const noexcept { return !taps_.empty(); }
  void tell(RowEvent event) const;
  void tell_row(RowEvent::What what, std::uint32_t row, const Status* why = nullptr) const {
    tell({.what = what, .key = ledger_.key(row), .op = ledger_.op(row), .why = why});
  }

  const Consumer& consumer_;
  const std::string_view table_;
  const std::uint32_t name_;  // The journal's number for the table.
  const Ledger& ledger_;
  const Clock& clock_;
  JournalRecorder& journal_;
  Witness* const witness_;
  std::vector<RowTap*> taps_;
};

}  // namespace rondo
