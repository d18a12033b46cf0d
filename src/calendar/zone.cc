// How a zone's spans relate to local time, and lookups in them. tzif.cc makes the spans.
#include "rondo/calendar/zone.h"

#include <algorithm>
#include <limits>

#include "calendar/zone_bounds.h"

namespace rondo::calendar {

namespace {

/// No two local times that occur twice are further apart: offsets are below 26 hours.
constexpr Seconds kOffsetsApart = 52 * 3600;

}  // namespace

const Zone& Zone::utc() {
  static const Zone zone = [] {
    Zone made;
    made.name_ = "UTC";
    made.spans_.push_back({kEarliest, kLatest, 0, 0, 0, 0});
    made.finish();
    return made;
  }();
  return zone;
}

/// Fills in what each span's neighbours say about its local times.
void Zone::finish() {
  Seconds seen = std::numeric_limits<Seconds>::min();
  for (Span& span : spans_) {
    if (seen == std::numeric_limits<Seconds>::min()) seen = span.local_start();
    span.seen_until = seen;
    span.fresh_from = std::max(seen, span.local_start());
    seen = std::max(seen, span.local_end());
  }
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    Span& span = spans_[i];
    span.last_until = span.local_end();
    for (std::size_t j = i + 1; j < spans_.size() && spans_[j].start < span.end + kOffsetsApart; ++j) {
      span.last_until = std::min(span.last_until, spans_[j].local_start());
    }
  }
}

std::size_t Zone::span_at(Seconds at) const noexcept {
  const auto after = std::upper_bound(spans_.begin() + 1, spans_.end(), at, [](Seconds t, const Span& span) { return t < span.start; });
  return static_cast<std::size_t>(after - spans_.begin()) - 1;
}

Seconds Zone::first_at(Seconds local) const noexcept {
  std::size_t i = span_at(local - kOffsetsApart / 2);
  while (i + 1 < spans_.size() && local >= spans_[i].local_end()) ++i;
  return std::max(local - spans_[i].offset, spans_[i].start);
}

}  // namespace rondo::calendar
