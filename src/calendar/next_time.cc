// Walks the spans of a zone. Within a span local time and UTC differ by a constant, so a span contributes the matching local times of one
// range:
//
//                       DstRule::Spring      Vixie, fixed times          Quartz
//   begin of the range  the span's           fresh_from: not seen yet    the span's
//   end                 the span's           the span's                  last_until: not shown again
//   a gap before it     nothing              the span's start, if a time matches in the gap
//
// Vixie with wildcards is the column of Spring. Systemd is that of Vixie, but for the gap.
#include "calendar/next_time.h"

#include <algorithm>

#include "calendar/zone_span.h"

namespace rondo::calendar {

namespace {

enum class Repeated { Each, First, Last };

Repeated repeated_of(const CronFields& fields, DstRule rule) noexcept {
  switch (rule) {
    case DstRule::Vixie: return fields.wildcard ? Repeated::Each : Repeated::First;
    case DstRule::Quartz: return Repeated::Last;
    case DstRule::Spring: return Repeated::Each;
    case DstRule::Systemd: return Repeated::First;
  }
  return Repeated::Each;
}

class Walk {
 public:
  Walk(const CronFields& fields, const Zone& zone, DstRule rule, const ExcludedDays* excluded) noexcept
      : fields_(fields), zone_(zone), rule_(rule), repeated_(repeated_of(fields, rule)), excluded_(excluded) {}

  Seconds from(Seconds at) noexcept {
    std::size_t index = zone_.span_at(at);
    if (at == zone_.spans()[index].start && fires_after_gap(zone_.spans()[index])) return at;
    Seconds local_from = at + zone_.spans()[index].offset;
    for (;;) {
      const Zone::Span& span = zone_.spans()[index];
      const Seconds low = repeated_ == Repeated::First ? std::max(local_from, span.fresh_from) : local_from;
      const Seconds high = repeated_ == Repeated::Last ? span.last_until : span.local_end();
      if (low < high) {
        const Seconds found = search(low, high);
        if (found < high) return found - span.offset;
      }
      if (++index == zone_.spans().size()) return kNoTime;
      const Zone::Span& next = zone_.spans()[index];
      if (fires_after_gap(next)) return next.start;
      local_from = next.local_start();
    }
  }

 private:
  /// The first match in [low, high), or a value that is 'high' or more. Remembers the first match after the highest time searched so far,
  /// because rare expressions match many spans later.
  Seconds search(Seconds low, Seconds high) noexcept {
    if (low < searched_from_) {
      const Seconds found = next_local(fields_, low, std::min(high, searched_from_), excluded_);
      if (found != kNoTime) return found;
    } else if (low > found_ || !searched_) {
      found_ = next_local(fields_, low, kNoTime, excluded_);
      searched_ = true;
    }
    searched_from_ = std::max(searched_from_, low);
    return found_;
  }

  /// True if a matching time lies in the gap before the span, on a day that has other times.
  bool fires_after_gap(const Zone::Span& span) noexcept {
    if (rule_ != DstRule::Vixie || repeated_ != Repeated::First || !span.follows_gap()) return false;
    Seconds low = span.seen_until;
    while (low < span.fresh_from) {
      const Seconds found = search(low, span.fresh_from);
      if (found >= span.fresh_from) return false;
      const Seconds day = floor_divide(found, kDaySeconds) * kDaySeconds;
      if (day < span.seen_until || day + kDaySeconds > span.fresh_from) return true;
      low = day + kDaySeconds;
    }
    return false;
  }

  const CronFields& fields_;
  const Zone& zone_;
  const DstRule rule_;
  const Repeated repeated_;
  const ExcludedDays* excluded_;
  bool searched_ = false;
  Seconds searched_from_ = std::numeric_limits<Seconds>::min();
  Seconds found_ = std::numeric_limits<Seconds>::min();
};

/// The first multiple of the period at 'from' or later that is not on an excluded day.
Seconds next_multiple(Seconds period, const Zone& zone, Seconds from, const ExcludedDays* excluded) noexcept {
  constexpr int kDaysPassed = 4096;
  for (int passed = 0; passed < kDaysPassed; ++passed) {
    const Seconds at = -floor_divide(-from, period) * period;
    const Seconds day = floor_divide(at + zone.offset_at(at), kDaySeconds);
    const CivilDate date = date_of(day);
    if (excluded == nullptr || !excluded->contains(date.year, date.month, date.day)) return at;
    from = std::max(zone.first_at((day + 1) * kDaySeconds), at + 1);
  }
  return kNoTime;
}

}  // namespace

Seconds next_instant(const CronFields& fields, const Zone& zone, DstRule rule, Seconds from, const ExcludedDays* excluded) noexcept {
  return fields.period != 0 ? next_multiple(fields.period, zone, from, excluded) : Walk{fields, zone, rule, excluded}.from(from);
}

}  // namespace rondo::calendar
