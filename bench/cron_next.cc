// Next times: how many a second for common expressions, each asked for the instant after the one before, in UTC and in zones with summer
// time; and the longest single answer of expressions that are rare, absent or never, from instants at both ends of the supported years.
// Processor time, best of several rounds. Plain main, because the second part is a maximum.
//   bench_cron_next [answers] [rounds]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string>

#include "rondo/calendar/cron.h"
#include "rondo/calendar/excluded_days.h"
#include "rondo/calendar/rfc3339.h"

namespace {

using namespace rondo;
using namespace rondo::calendar;

struct Case {
  CronDialect dialect;
  const char* text;
};

constexpr Case kCommon[] = {
    {CronDialect::Unix, "* * * * *"},          {CronDialect::Unix, "*/15 * * * *"},      {CronDialect::Unix, "30 2 * * *"},
    {CronDialect::Unix, "0 9 * * 1-5"},        {CronDialect::Unix, "0 0 1 * *"},         {CronDialect::UnixSeconds, "*/10 * * * * *"},
    {CronDialect::Quartz, "0 0/5 * * * ?"},    {CronDialect::Quartz, "0 0 12 ? * 6#3"},  {CronDialect::Quartz, "0 0 0 LW * ?"},
    {CronDialect::Spring, "0 0 9-17 * * 1-5"}, {CronDialect::Systemd, "Mon..Fri 10:00"}, {CronDialect::Systemd, "hourly"},
};

/// Rare days, days that end with the calendar, and times that summer time skips on each of their days.
constexpr Case kRare[] = {
    {CronDialect::Unix, "0 0 29 2 *"},
    {CronDialect::Spring, "0 0 0 29 2 MON"},
    {CronDialect::Quartz, "0 0 0 1 1 ? 2099"},
    {CronDialect::Quartz, "0 0 0 1 1 ? 1970"},
    {CronDialect::Quartz, "0 30 2 ? 3 1L"},
    {CronDialect::Spring, "0 30 2 ? 3 7L"},
    {CronDialect::Spring, "0 0 0 L-30 1/2 SUN"},
    {CronDialect::Quartz, "0 0 0 1W,2W,3W,4W,5W,6W,7W,8W,9W,L-1W,L-2W,L-3W 2 ? 2099"},
    {CronDialect::Spring, "0 0 0 29W,29 2 SUN#5,MON#5"},
    {CronDialect::Systemd, "Mon 2196-2-29"},
    {CronDialect::Unix, "0 0 31 12 *"},
};

Cron parsed(const Case& one) {
  auto cron = Cron::parse(one.text, one.dialect);
  if (cron) return *std::move(cron);
  std::fprintf(stderr, "%s: %s\n", one.text, cron.error().to_string().c_str());
  std::exit(1);
}

/// Processor time of this thread in nanoseconds.
std::int64_t spent() {
  timespec ts{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
  return static_cast<std::int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
}

std::int64_t checksum = 0;

double nanoseconds_each(const Cron& cron, const Zone& zone, int answers) {
  WallTime at = *parse_rfc3339("2024-01-01T00:00:00Z");
  const WallTime begin = at;
  const std::int64_t before = spent();
  for (int i = 0; i < answers; ++i) at = cron.next(zone, DstRule::Vixie, at).value_or(begin);
  const std::int64_t after = spent();
  checksum += at.nanoseconds();
  return static_cast<double>(after - before) / answers;
}

void measure_common(const Zone& zone, int answers, int rounds) {
  for (const Case& one : kCommon) {
    const Cron cron = parsed(one);
    double best = std::numeric_limits<double>::max();
    for (int round = 0; round < rounds; ++round) best = std::min(best, nanoseconds_each(cron, zone, answers));
    std::printf("%-20s %-8s %-20s %7.1f ns  %6.2f million a second\n", zone.name().c_str(), std::string{to_string(one.dialect)}.c_str(),
                one.text, best, 1000.0 / best);
  }
}

void measure_rare(const Zone& zone, int rounds) {
  ExcludedDays sundays;
  static_cast<void>(sundays.add_weekday(0));
  double longest = 0;
  std::string which;
  for (const Case& one : kRare) {
    const Cron cron = parsed(one);
    for (const char* from :
         {"1678-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2100-01-01T00:00:00Z", "2261-12-31T00:00:00Z"}) {
      for (const DstRule rule : {DstRule::Vixie, DstRule::Quartz, DstRule::Spring}) {
        double best = std::numeric_limits<double>::max();
        for (int round = 0; round < rounds; ++round) {
          const std::int64_t before = spent();
          const std::optional<WallTime> next = cron.next(zone, rule, *parse_rfc3339(from), &sundays);
          best = std::min(best, static_cast<double>(spent() - before));
          checksum += next ? 1 : 0;
        }
        if (best <= longest) continue;
        longest = best;
        which = std::string{one.text} + " from " + from + ", " + std::string{to_string(rule)};
      }
    }
  }
  std::printf("%-20s the longest answer of a rare expression takes %.1f us: %s\n", zone.name().c_str(), longest / 1000, which.c_str());
}

}  // namespace

int main(int count, char** words) {
  const int answers = count > 1 ? std::max(1, std::atoi(words[1])) : 200'000;
  const int rounds = count > 2 ? std::max(1, std::atoi(words[2])) : 5;
  ZoneDirectory zones;
  for (const char* name : {"UTC", "Europe/Berlin", "Australia/Lord_Howe"}) {
    const auto zone = zones.find(name);
    if (!zone) {
      std::fprintf(stderr, "%s\n", zone.error().to_string().c_str());
      return 1;
    }
    measure_common(**zone, answers, rounds);
    measure_rare(**zone, rounds);
  }
  std::printf("(checksum %lld)\n", static_cast<long long>(checksum));
  return 0;
}
