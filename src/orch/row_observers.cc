#include "orch/row_observers.h"

#include <string>

namespace rondo {

void RowObservers::delayed(std::uint32_t row, const Change& change, Duration delay, Instant due, const Status& why) {
  if (!any()) return;
  report({.what = What::Delayed,
          .op = change.op(),
          .row = row,
          .key = change.key(),
          .change = &change,
          .delay = delay,
          .due = due,
          .why = &why});
}

void RowObservers::superseded(std::uint32_t row, const Change& change, std::span<const Fact> facts, Instant due) {
  if (!any()) return;
  report({.what = What::Superseded, .op = change.op(), .row = row, .key = change.key(), .change = &change, .facts = facts, .due = due});
}

void RowObservers::resolved(const Fact& fact, const FactIndex& index) {
  if (taps_.empty()) return;
  const std::string provider = index.provider(fact.kind);
  taps_.resolved({.what = What::Resolved, .table_number = number_, .table = table_, .facts = {&fact, 1}, .provider = provider});
}

void RowObservers::report(RowEvent event) const {
  event.table = table_;
  event.table_number = number_;
  for (RuntimeEvents* const one : all_) one->row(event);
}

std::string_view to_string(RowEvent::What what) noexcept {
  switch (what) {
    case RowEvent::What::Taken: return "taken";
    case RowEvent::What::Merged: return "merged";
    case RowEvent::What::Unparked: return "unparked";
    case RowEvent::What::Retried: return "retried";
    case RowEvent::What::Redone: return "redone";
    case RowEvent::What::Requeued: return "requeued";
    case RowEvent::What::Handled: return "handled";
    case RowEvent::What::Ordered: return "ordered";
    case RowEvent::What::Done: return "done";
    case RowEvent::What::Rejected: return "rejected";
    case RowEvent::What::Parked: return "parked";
    case RowEvent::What::Delayed: return "delayed";
    case RowEvent::What::Replaced: return "gave-way";
    case RowEvent::What::Superseded: return "superseded";
    case RowEvent::What::Again: return "again";
    case RowEvent::What::StillParked: return "still-parked";
    case RowEvent::What::Refused: return "refused";
    case RowEvent::What::Resolved: return "resolved";
  }
  return "unknown";
}

}  // namespace rondo
