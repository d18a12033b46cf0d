#include "orch/row_observers.h"

#include <string>
#include <utility>

namespace rondo {

RowObservers::~RowObservers() {
  for (RuntimeEvents* const tap : taps()) static_cast<RowTap*>(tap)->observers_ = nullptr;
}

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
  if (taps().empty()) return;
  const std::string provider = index.provider(fact.kind);
  for (RuntimeEvents* const tap : taps()) {
    tap->row({.what = What::Resolved, .table_number = number_, .table = table_, .facts = {&fact, 1}, .provider = provider});
  }
}

std::unique_ptr<RowTap> RowObservers::tap(RowTap::Listener listener) {
  std::unique_ptr<RowTap> tap{new RowTap(*this, clock_, std::move(listener))};
  all_.push_back(tap.get());
  return tap;
}

std::unique_ptr<RowTap> RowObservers::tap_taken(RowTap::TakenListener listener) {
  std::unique_ptr<RowTap> tap{new RowTap(*this, clock_, std::move(listener))};
  all_.push_back(tap.get());
  return tap;
}

void RowObservers::report(RowEvent event) const {
  event.table = table_;
  event.table_number = number_;
  for (RuntimeEvents* const one : all_) one->row(event);
}

RowTap::~RowTap() {
  if (observers_ != nullptr) std::erase(observers_->all_, this);
}

void RowTap::row(const RowEvent& event) {
  if (taken_) {
    if (event.what == RowEvent::What::Taken) taken_(*event.change);
    return;
  }
  RowEvent reported = event;
  switch (event.what) {
    case RowEvent::What::Merged:
    case RowEvent::What::Unparked:
    case RowEvent::What::Requeued:
    case RowEvent::What::Handled:
    case RowEvent::What::Superseded:
    case RowEvent::What::Again:
    case RowEvent::What::StillParked: return;
    case RowEvent::What::Refused: reported.what = RowEvent::What::Rejected; break;
    case RowEvent::What::Delayed:
      if (event.why->ok()) reported.why = nullptr;
      break;
    default: break;
  }
  if (event.what != RowEvent::What::Taken) reported.change = nullptr;
  reported.at = clock_.now();
  listener_(reported);
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
