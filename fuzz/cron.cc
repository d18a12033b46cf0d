// Fuzzes the parsers of expressions and of instants. The first byte chooses the dialect, or detection. A refusal names a column of the
// text; an accepted text has words, and its instants increase under each rule, in a zone with summer time.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "rondo/base/assert.h"
#include "rondo/calendar/cron.h"
#include "rondo/calendar/rfc3339.h"

namespace {

using namespace rondo;
using namespace rondo::calendar;

const Zone& berlin() {
  static const Zone zone = [] {
    // A TZif file of version 2 without changes, whose rule has summer time.
    std::string block = "TZif2" + std::string(15, '\0') + std::string(12, '\0') + std::string(4, '\0') + std::string("\0\0\0\1\0\0\0\1", 8);
    block += std::string(6, '\0') + std::string(1, '\0');
    return *Zone::parse("Fuzz/Berlin", block + block + "\nCET-1CEST,M3.5.0,M10.5.0/3\n");
  }();
  return zone;
}

void check_instants(const Cron& cron) {
  for (const DstRule rule : {DstRule::Vixie, DstRule::Quartz, DstRule::Spring}) {
    WallTime at = WallTime::from_nanoseconds(1'711'756'800'000'000'000);  // The day before a change.
    for (int i = 0; i < 20; ++i) {
      const std::optional<WallTime> next = cron.next(berlin(), rule, at);
      if (!next) break;
      RONDO_ASSERT(*next > at);
      at = *next;
    }
  }
}

void check_instant(std::string_view text) {
  const Result<WallTime> at = parse_rfc3339(text);
  if (!at) return;
  const Result<WallTime> again = parse_rfc3339(format_rfc3339(*at));
  RONDO_ASSERT(again.has_value() && *at - *again >= Duration{0} && *at - *again < Duration{1'000'000});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text{reinterpret_cast<const char*>(data) + 1, size - 1};
  check_instant(text);
  const unsigned choice = data[0] % 6;
  const auto cron = choice == 5 ? Cron::parse(text) : Cron::parse(text, static_cast<CronDialect>(choice));
  if (!cron) {
    RONDO_ASSERT(cron.error().column >= 1 && cron.error().column <= text.size() + 1 && !cron.error().reason.empty());
    return 0;
  }
  RONDO_ASSERT(!cron->explain().empty());
  check_instants(*cron);
  return 0;
}
