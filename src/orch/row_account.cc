#include "orch/row_account.h"

#include <utility>

namespace rondo {

RowAccount::~RowAccount() {
  for (RowTap* const tap : taps_) tap->account_ = nullptr;
}

void RowAccount::delayed(std::uint32_t row, const Change& change, Duration delay, const Status& why) {
  journal_.delayed(name_, row, change, delay, {}, why);
  if (!tapped()) return;
  tell({.what = RowEvent::What::Delayed, .key = ledger_.key(row), .op = ledger_.op(row), .delay = delay, .why = why.ok() ? nullptr : &why});
}

void RowAccount::queued_by_end(std::uint32_t row) {
  if (!journal_.on() && witness_ == nullptr) return;
  const Change change{ledger_.op(row), ledger_.pending(row)};
  journal_.unparked(name_, row, change);
  if (witness_ != nullptr) witness_->redone(consumer_, change);
}

std::unique_ptr<RowTap> RowAccount::tap(RowTap::Listener listener) {
  std::unique_ptr<RowTap> tap{new RowTap(*this, std::move(listener))};
  taps_.push_back(tap.get());
  return tap;
}

void RowAccount::tell(RowEvent event) const {
  event.table = table_;
  event.at = clock_.now();
  for (const RowTap* const tap : taps_) tap->listener_(event);
}

RowTap::~RowTap() {
  if (account_ != nullptr) std::erase(account_->taps_, this);
}

std::string_view to_string(RowEvent::What what) noexcept {
  switch (what) {
    case RowEvent::What::Taken: return "taken";
    case RowEvent::What::Parked: return "parked";
    case RowEvent::What::GaveWay: return "gave-way";
    case RowEvent::What::Delayed: return "delayed";
    case RowEvent::What::Resolved: return "resolved";
    case RowEvent::What::Retried: return "retried";
    case RowEvent::What::Redone: return "redone";
    case RowEvent::What::Ordered: return "ordered";
    case RowEvent::What::Done: return "done";
    case RowEvent::What::Rejected: return "rejected";
  }
  return "unknown";
}

}  // namespace rondo
