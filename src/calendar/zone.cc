// How a zone's spans relate to local time, and lookups in them. tzif.cc makes the spans.
#include "rondo/calendar/zone.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "calendar/zone_span.h"

namespace rondo::calendar {

namespace {

/// No two local times that occur twice are further apart: offsets are below 26 hours.
constexpr Seconds kOffsetsApart = 52 * 3600;

}  // namespace

const Zone& Zone::utc() {
  static const Zone zone{"UTC", {{kEarliest, kLatest, 0, 0, 0, 0}}};
  return zone;
}

/// Fills in what each span's neighbours say about its local times.
Zone::Zone(std::string_view name, std::vector<Span> spans) : name_(name) {
  Seconds seen = std::numeric_limits<Seconds>::min();
  for (Span& span : spans) {
    if (seen == std::numeric_limits<Seconds>::min()) seen = span.local_start();
    span.seen_until = seen;
    span.fresh_from = std::max(seen, span.local_start());
    seen = std::max(seen, span.local_end());
  }
  for (std::size_t i = 0; i < spans.size(); ++i) {
    Span& span = spans[i];
    span.last_until = span.local_end();
    for (std::size_t j = i + 1; j < spans.size() && spans[j].start < span.end + kOffsetsApart; ++j) {
      span.last_until = std::min(span.last_until, spans[j].local_start());
    }
  }
  spans_ = std::make_shared<const std::vector<Span>>(std::move(spans));
}

std::size_t Zone::span_at(Seconds at) const noexcept {
  const auto after = std::upper_bound(spans_->begin() + 1, spans_->end(), at, [](Seconds t, const Span& span) { return t < span.start; });
  return static_cast<std::size_t>(after - spans_->begin()) - 1;
}

std::int32_t Zone::offset_at(Seconds at) const noexcept { return (*spans_)[span_at(at)].offset; }

bool has_same_offsets(const Zone& a, const Zone& b) {
  return std::ranges::equal(a.spans(), b.spans(),
                            [](const Zone::Span& x, const Zone::Span& y) { return x.start == y.start && x.offset == y.offset; });
}

Seconds Zone::first_at(Seconds local) const noexcept {
  std::size_t i = span_at(local - kOffsetsApart / 2);
  while (i + 1 < spans_->size() && local >= (*spans_)[i].local_end()) ++i;
  return std::max(local - (*spans_)[i].offset, (*spans_)[i].start);
}

}  // namespace rondo::calendar
