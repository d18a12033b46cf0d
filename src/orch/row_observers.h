// RowObservers: by which a consumer reports what happens to its rows: to the observers of its runtime and to those of its table
// (orch/runtime_events.h). Each call costs one branch without an observer. Scheduler's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orch/fact_index.h"
#include "orch/ledger.h"
#include "orch/observers.h"
#include "orch/row_tap.h"

namespace rondo {

class RowObservers {
 public:
  using What = RowEvent::What;

  /// All arguments must outlive it. 'ledger' holds the rows of 'table'.
  RowObservers(std::string_view table, const Ledger& ledger, Observers& runtime)
      : table_(table), number_(runtime.add_table(table)), ledger_(ledger), all_(runtime.all()) {}
  RowObservers(const RowObservers&) = delete;
  RowObservers& operator=(const RowObservers&) = delete;

  bool any() const noexcept { return !all_.empty(); }

  // --- The table.

  void became_ready() {
    for (RuntimeEvents* const one : all_) one->table_ready(number_);
  }
  /// 'count' changes were taken; a taken() and a merged() for each follow. 'is_empty': nothing is left to take.
  void took(std::size_t count, bool is_empty) {
    if (count == 0) return;
    for (RuntimeEvents* const one : all_) one->changes_taken(number_, count, is_empty);
  }
  void taken(const Change& change) {
    if (any()) report_change(What::Taken, change);
  }
  void merged(const Change& change, Ledger::Merged how) {
    if (!any()) return;
    report(What::Merged, ledger_.merged_row(), change);
    if (how == Ledger::Merged::Unparked) report(What::Unparked, ledger_.merged_row(), change);
  }

  // --- The handler.

  void retried(std::uint32_t row, const Change& change) {
    if (any()) report(What::Retried, row, change);
  }
  void redone(std::uint32_t row, const Change& change) {
    if (any()) report(What::Redone, row, change);
  }
  /// As redone(), for a row whose newer change waits: that change is queued.
  void requeued(std::uint32_t row) {
    if (any()) report(What::Requeued, row, Change{ledger_.op(row), ledger_.pending(row)});
  }
  void handled(const Change& change) {
    if (any()) report_change(What::Handled, change);
  }

  // --- The outcome; see RowEvent::What for when each is called.

  void ordered(std::uint32_t row) {
    if (any()) report({.what = What::Ordered, .op = ledger_.op(row), .row = row, .key = ledger_.key(row)});
  }
  /// The row of the change in flight is done.
  void done(std::uint32_t row, std::span<const Fact> facts = {}) {
    if (any()) report(What::Done, row, Change{ledger_.op(row), ledger_.flight(row)}, facts);
  }
  void rejected(std::uint32_t row, const Change& change, const Status& why) {
    if (any()) report({.what = What::Rejected, .op = change.op(), .row = row, .key = change.key(), .change = &change, .why = &why});
  }
  void parked(std::uint32_t row, const Change& change, std::span<const Fact> facts, bool for_any) {
    if (!any()) return;
    report({.what = What::Parked, .op = change.op(), .row = row, .key = change.key(), .change = &change, .facts = facts, .any = for_any});
  }
  void delayed(std::uint32_t row, const Change& change, Duration delay, Instant due, const Status& why);
  /// 'change' is a Delete; the row has the Set that replaces it.
  void replaced(std::uint32_t row, const Change& change, std::span<const Fact> facts) {
    if (any()) report(What::Replaced, row, change, facts);
  }
  void superseded(std::uint32_t row, const Change& change, std::span<const Fact> facts, Instant due = {});
  void again(std::uint32_t row, const Change& change) {
    if (any()) report(What::Again, row, change);
  }

  // --- Other events.

  void still_parked(std::uint32_t row, const Fact& fact) {
    if (any()) report({.what = What::StillParked, .op = ledger_.op(row), .row = row, .key = ledger_.key(row), .facts = {&fact, 1}});
  }
  void refused(const Change& change, const Status& why) {
    if (any()) report({.what = What::Refused, .op = change.op(), .key = change.key(), .change = &change, .why = &why});
  }
  /// 'fact' was announced by its provider in 'index', and rows of this consumer may have waited for it.
  void resolved(const Fact& fact, const FactIndex& index);

  TableTaps& taps() noexcept { return taps_; }

 private:
  void report(RowEvent event) const;
  void report(What what, std::uint32_t row, const Change& change, std::span<const Fact> facts = {}) const {
    report({.what = what, .op = change.op(), .row = row, .key = change.key(), .change = &change, .facts = facts});
  }
  void report_change(What what, const Change& change) const {
    report({.what = what, .op = change.op(), .key = change.key(), .change = &change});
  }

  const std::string_view table_;
  const std::uint32_t number_;
  const Ledger& ledger_;
  std::vector<RuntimeEvents*> all_;  // The observers of the runtime, then taps_ if it has any.
  TableTaps taps_{all_};
};

}  // namespace rondo
