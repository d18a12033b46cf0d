// Fuzzes the reader of TZif files. A file that is accepted gives spans without holes whose lookups agree with each other, and a daily
// schedule in that zone has increasing instants.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "calendar/zone_span.h"
#include "rondo/base/assert.h"
#include "rondo/calendar/cron.h"
#include "rondo/calendar/zone.h"

namespace {

using namespace rondo;
using namespace rondo::calendar;

void check_spans(const Zone& zone) {
  for (std::size_t i = 0; i < zone.spans().size(); ++i) {
    const Zone::Span& span = zone.spans()[i];
    RONDO_ASSERT(span.start < span.end && zone.span_at(span.start) == i && zone.span_at(span.end - 1) == i);
    RONDO_ASSERT(i == 0 || zone.spans()[i - 1].end == span.start);
    RONDO_ASSERT(span.seen_until <= span.fresh_from && span.last_until <= span.local_end());
    const Seconds first = zone.first_at(span.local_start());
    RONDO_ASSERT(first <= span.start);
  }
}

void check_schedule(const Zone& zone) {
  static const Cron daily = *Cron::parse("30 2 * * *", CronDialect::Unix);
  for (const DstRule rule : {DstRule::Vixie, DstRule::Quartz, DstRule::Spring}) {
    WallTime at = WallTime::from_nanoseconds(0);
    for (int i = 0; i < 50; ++i) {
      const std::optional<WallTime> next = daily.next(zone, rule, at);
      if (!next) break;
      RONDO_ASSERT(*next > at);
      at = *next;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Result<Zone> zone = Zone::parse("Fuzz", {reinterpret_cast<const char*>(data), size});
  if (!zone) {
    RONDO_ASSERT(zone.error().code() == StatusCode::InvalidArgument);
    return 0;
  }
  check_spans(*zone);
  check_schedule(*zone);
  return 0;
}
