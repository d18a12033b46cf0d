#include "orch/row_tap.h"

#include <algorithm>

namespace rondo {

RowTap::~RowTap() {
  if (taps_ != nullptr) taps_->remove(*this);
}

TableTaps::~TableTaps() {
  for_each([](RowTap& tap) { tap.taps_ = nullptr; });
}

template <class Function>
void TableTaps::for_each(const Function& function) const {
  for (RowTap* const tap : taken_) function(*tap);
  for (RowTap* const tap : all_) function(*tap);
  for (const auto& [key, tap] : by_key_) function(*tap);
}

std::unique_ptr<RowTap> TableTaps::add(RowTap::Listener listener) {
  std::unique_ptr<RowTap> tap{new RowTap(*this, {}, std::move(listener))};
  all_.push_back(tap.get());
  added();
  return tap;
}

std::unique_ptr<RowTap> TableTaps::add(std::string_view key, RowTap::Listener listener) {
  std::unique_ptr<RowTap> tap{new RowTap(*this, std::string{key}, std::move(listener))};
  by_key_.emplace(tap->key_, tap.get());
  added();
  return tap;
}

std::unique_ptr<RowTap> TableTaps::add_taken(RowTap::TakenListener listener) {
  std::unique_ptr<RowTap> tap{new RowTap(*this, std::move(listener))};
  taken_.push_back(tap.get());
  added();
  return tap;
}

void TableTaps::added() {
  if (std::ranges::find(observers_, this) == observers_.end()) observers_.push_back(this);
}

void TableTaps::remove(const RowTap& tap) {
  std::erase(taken_, &tap);
  std::erase(all_, &tap);
  const auto [first, last] = by_key_.equal_range(tap.key_);
  if (const auto found = std::find_if(first, last, [&tap](const auto& one) { return one.second == &tap; }); found != last) {
    by_key_.erase(found);
  }
  if (empty()) std::erase(observers_, this);
}

void TableTaps::row(const RowEvent& event) {
  switch (event.what) {
    case RowEvent::What::Merged:
    case RowEvent::What::Unparked:
    case RowEvent::What::Requeued:
    case RowEvent::What::Handled:
    case RowEvent::What::StillParked: return;
    case RowEvent::What::Taken:
      for (RowTap* const tap : taken_) tap->taken_(*event.change);
      break;
    default: break;
  }
  if (all_.empty() && by_key_.empty()) return;
  const auto [first, last] = by_key_.equal_range(event.key);
  if (all_.empty() && first == last) return;
  RowEvent reported = event;
  if (event.what == RowEvent::What::Refused) reported.what = RowEvent::What::Rejected;
  if (event.what == RowEvent::What::Delayed && event.why->ok()) reported.why = nullptr;
  if (event.what != RowEvent::What::Taken) reported.change = nullptr;
  for (RowTap* const tap : all_) tap->listener_(reported);
  for (auto one = first; one != last; ++one) one->second->listener_(reported);
}

void TableTaps::resolved(const RowEvent& event) const {
  for_each([&event](const RowTap& tap) {
    if (tap.listener_) tap.listener_(event);
  });
}

}  // namespace rondo
