#include "switch_agent/safety_stop.h"

#include <utility>

namespace rondo::switch_agent {

bool SafetyStop::allows(std::string_view what, std::uint64_t count, std::uint64_t total, const std::string& parts) {
  const auto known = places_.find(what);
  const bool few = count < options_.least || static_cast<double>(count) <= options_.share * static_cast<double>(total);
  if (few) return known == places_.end() || let_go(known, Event::Fewer);
  const Instant now = clock_.now();
  if (known == places_.end()) {
    const auto place = places_.emplace(what, Place{{std::string{what}, count, total, parts, now}}).first;
    tell(Event::Held, place->second.held);
    return false;
  }
  Place& place = known->second;
  place.held.count = count;
  place.held.total = total;
  place.held.parts = parts;
  if (place.confirmed >= count) {
    places_.erase(known);
    return true;
  }
  if (std::exchange(place.confirmed, 0) != 0) tell(Event::Held, place.held);  // The deletion exceeds the confirmed number.
  if (options_.wait > Duration{0} && now - place.held.since >= options_.wait) return let_go(known, Event::TimeIsOver);
  return false;
}

bool SafetyStop::let_go(Places::iterator place, Event event) {
  const Held held = std::move(place->second.held);
  const bool was_confirmed = place->second.confirmed > 0;
  places_.erase(place);
  if (!was_confirmed) tell(event, held);
  return true;
}

void SafetyStop::forget(std::string_view what) {
  if (const auto place = places_.find(what); place != places_.end()) let_go(place, Event::Fewer);
}

std::vector<SafetyStop::Held> SafetyStop::confirm() {
  std::vector<Held> held;
  for (auto& [what, place] : places_) {
    if (place.confirmed > 0) continue;
    place.confirmed = place.held.count;
    held.push_back(place.held);
    tell(Event::Confirmed, place.held);
  }
  return held;
}

std::vector<SafetyStop::Held> SafetyStop::held() const {
  std::vector<Held> held;
  for (const auto& [what, place] : places_) {
    if (place.confirmed == 0) held.push_back(place.held);
  }
  return held;
}

}  // namespace rondo::switch_agent
