// Random expressions of every dialect, in random zones near changes of their offset, against a walk over every second. The walk knows the
// sets of values from which the text was made, and reads the zone one second at a time; it shares no code with the parsers or the search.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/testing/sanitized.h"
#include "calendar/zone_span.h"
#include "rondo/base/random.h"
#include "rondo/calendar/cron.h"
#include "rondo/calendar/excluded_days.h"
#include "rondo/calendar/rfc3339.h"

namespace rondo::calendar {
namespace {

constexpr Seconds kDay = 86'400;
constexpr Seconds kWalk = kDay * 3 / 2;
constexpr Seconds kBefore = kDay * 5 / 4;

/// A field as text, and the values that it means.
struct Field {
  std::string text;
  std::set<int> values;
  bool star = false;      // Begins with '*'.
  bool wildcard = false;  // Begins with '*', or is 'LOW/n'.
  bool all = false;
};

Field star(int low, int high) {
  Field field{"*", {}, true, true, true};
  for (int value = low; value <= high; ++value) field.values.insert(value);
  return field;
}

/// A random field of 'low' to 'high'. 'wrap' allows ranges like 22-2; 'dots' writes them as systemd does.
Field random_field(Random& random, int low, int high, bool wrap, bool dots) {
  const auto draw = [&] { return static_cast<int>(random.between(static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high))); };
  if (random.chance(0.3)) return star(low, high);
  Field field;
  if (random.chance(0.25)) {
    const int first = random.chance(0.5) ? low : std::min(draw(), high - 1);
    const int step = static_cast<int>(random.between(1, static_cast<std::uint64_t>(high - first)));
    for (int value = first; value <= high; value += step) field.values.insert(value);
    field.star = first == low && !dots && random.chance(0.5);
    field.wildcard = first == low;
    field.text = (field.star ? "*" : std::to_string(first)) + "/" + std::to_string(step);
    return field;
  }
  for (std::uint64_t i = random.between(1, 3); i > 0; --i) {
    if (!field.text.empty()) field.text += ",";
    int first = draw();
    int last = random.chance(0.4) ? draw() : first;
    if (first > last && !wrap) std::swap(first, last);
    field.text += std::to_string(first);
    if (first != last) field.text += (dots ? ".." : "-") + std::to_string(last);
    for (int value = first;; value = value == high ? low : value + 1) {
      field.values.insert(value);
      if (value == last) break;
    }
  }
  return field;
}

struct Sample {
  CronDialect dialect;
  std::string text;
  Field second, minute, hour, day, month, weekday;  // The weekday's values are 0 (Sunday) to 6.

  bool follows_elapsed() const { return minute.wildcard || hour.wildcard; }
  bool on(Seconds local_day) const;
};

bool Sample::on(Seconds local_day) const {
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{local_day}}};
  if (!month.values.contains(static_cast<int>(static_cast<unsigned>(date.month())))) return false;
  const bool by_day = day.values.contains(static_cast<int>(static_cast<unsigned>(date.day())));
  const bool by_weekday = weekday.values.contains(static_cast<int>(std::chrono::weekday{std::chrono::sys_days{date}}.c_encoding()));
  const bool unix_like = dialect == CronDialect::Unix || dialect == CronDialect::UnixSeconds;
  return unix_like && !day.star && !weekday.star ? by_day || by_weekday : by_day && by_weekday;
}

Field random_weekday(Random& random, CronDialect dialect) {
  if (dialect == CronDialect::Systemd) {
    Field field = random_field(random, 0, 6, false, true);
    if (field.all || field.text.find('/') != std::string::npos) return star(0, 6);
    constexpr std::array<const char*, 7> kNames{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
    std::string text;
    for (const char c : field.text) text += c >= '0' && c <= '6' ? kNames[static_cast<std::size_t>(c - '0')] : std::string(1, c);
    std::set<int> from_sunday;
    for (const int value : field.values) from_sunday.insert((value + 1) % 7);
    return {text, from_sunday, false, false, false};
  }
  if (dialect != CronDialect::Quartz) {
    Field field = random_field(random, 0, 6, false, false);
    const std::size_t slash = field.text.find('/');
    if (dialect != CronDialect::Spring || slash == std::string::npos) return field;
    // In spring a step runs up to 7, which is Sunday, and '*' begins with Monday.
    field.values.clear();
    for (int day = field.star ? 1 : field.text.front() - '0'; day <= 7; day += std::stoi(field.text.substr(slash + 1)))
      field.values.insert(day % 7);
    return field;
  }
  Field field = random_field(random, 1, 7, true, false);
  std::set<int> from_zero;
  for (const int value : field.values) from_zero.insert(value - 1);
  field.values = from_zero;
  return field;
}

Sample random_sample(Random& random) {
  Sample s;
  constexpr std::array kAll{CronDialect::Quartz, CronDialect::Spring, CronDialect::Unix, CronDialect::UnixSeconds, CronDialect::Systemd};
  s.dialect = kAll[random.below(kAll.size())];
  const bool wrap = s.dialect == CronDialect::Quartz;
  const bool dots = s.dialect == CronDialect::Systemd;
  s.second =
      s.dialect == CronDialect::Unix || random.chance(0.6) ? Field{"0", {0}, false, false, false} : random_field(random, 0, 59, wrap, dots);
  s.minute = random_field(random, 0, 59, wrap, dots);
  s.hour = random_field(random, 0, 23, wrap, dots);
  // Days that exclude little, so that most windows have firings.
  s.day = random.chance(0.6) ? star(1, 31) : random_field(random, 1, 31, wrap, dots);
  s.month = random.chance(0.8) ? star(1, 12) : random_field(random, 1, 12, wrap, dots);
  s.weekday = random.chance(0.6) ? star(0, 6) : random_weekday(random, s.dialect);
  if (s.dialect == CronDialect::Quartz) {
    Field& other = random.chance(0.5) ? s.day : s.weekday;
    other = &other == &s.day ? star(1, 31) : star(0, 6);
    other.text = "?";
  }
  const std::string date = s.day.text + " " + s.month.text + " " + s.weekday.text;
  if (dots) {
    s.text = (s.weekday.all ? "" : s.weekday.text + " ") + "*-" + s.month.text + "-" + s.day.text + " " + s.hour.text + ":" +
             s.minute.text + ":" + s.second.text;
  } else {
    s.text = (s.dialect == CronDialect::Unix ? "" : s.second.text + " ") + s.minute.text + " " + s.hour.text + " " + date;
  }
  return s;
}

/// Walks over the seconds around 'from' and notes the firings by the definition of each rule.
class Walk {
 public:
  Walk(const Sample& sample, const Zone& zone, const ExcludedDays& excluded)
      : sample_(sample), zone_(zone), excluded_(excluded), at_time_(kDay) {
    for (const int hour : sample.hour.values) {
      for (const int minute : sample.minute.values) {
        for (const int second : sample.second.values) at_time_[static_cast<std::size_t>(hour * 3600 + minute * 60 + second)] = true;
      }
    }
  }

  std::vector<Seconds> firings(DstRule rule, Seconds from) {
    std::vector<std::pair<Seconds, Seconds>> shown;  // Instant and matching local time.
    std::set<Seconds> found;
    Seconds offset = zone_.offset_at(from - kBefore);
    Seconds highest = from - kBefore + zone_.offset_at(from - kBefore) - 1;
    const bool fixed = rule == DstRule::Vixie && !sample_.follows_elapsed();
    const bool first_only = fixed || rule == DstRule::Systemd;
    for (Seconds at = from - kBefore; at <= from + kWalk + kBefore; ++at) {
      // Since 1985 offsets change only at whole minutes.
      if (at % 60 == 0) offset = zone_.offset_at(at);
      const Seconds local = at + offset;
      for (Seconds skipped = highest + 1; fixed && skipped < local; ++skipped) {
        const Seconds day = day_of(skipped);
        if (matches(skipped) && !(day > day_of(highest) && day < day_of(local))) found.insert(at);
      }
      if (matches(local) && (!first_only || local > highest)) shown.emplace_back(at, local);
      highest = std::max(highest, local);
    }
    std::map<Seconds, Seconds> last;  // Local time and the last instant that shows it.
    for (const auto& [at, local] : shown) last[local] = at;
    for (const auto& [at, local] : shown) {
      if (rule != DstRule::Quartz || last[local] == at) found.insert(at);
    }
    std::vector<Seconds> within;
    std::copy_if(found.begin(), found.end(), std::back_inserter(within), [&](Seconds at) { return at > from && at <= from + kWalk; });
    return within;
  }

 private:
  static Seconds day_of(Seconds local) { return local >= 0 ? local / kDay : (local - kDay + 1) / kDay; }
  bool matches(Seconds local) {
    const Seconds day = day_of(local);
    if (day != day_) {
      day_ = day;
      const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{day}}};
      on_ = sample_.on(day) &&
            !excluded_.contains(int{date.year()}, static_cast<int>(unsigned{date.month()}), static_cast<int>(unsigned{date.day()}));
    }
    if (!on_) return false;
    return at_time_[static_cast<std::size_t>(local - day * kDay)];
  }

  const Sample& sample_;
  const Zone& zone_;
  const ExcludedDays& excluded_;
  std::vector<bool> at_time_;
  Seconds day_ = -1'000'000;
  bool on_ = false;
};

WallTime wall(Seconds seconds) { return WallTime::from_nanoseconds(seconds * 1'000'000'000); }

/// An instant near a change of the zone between 1985 and 2045, or anywhere if it has none.
Seconds near_change(Random& random, const Zone& zone) {
  const Seconds low = 473'385'600;
  const Seconds high = 2'366'841'600;
  std::vector<Seconds> changes;
  for (const Zone::Span& span : zone.spans()) {
    if (span.start > low && span.start < high) changes.push_back(span.start);
  }
  const Seconds base = changes.empty() ? static_cast<Seconds>(random.between(low, high)) : changes[random.below(changes.size())];
  return base - kDay - 7200 + static_cast<Seconds>(random.below(static_cast<std::uint64_t>(kDay + 10'800)));
}

TEST(CronProperty, NextTimesAreThoseOfAWalkOverEverySecond) {
  constexpr std::array kZones{"Europe/Berlin",     "America/New_York",  "Australia/Lord_Howe", "Africa/Cairo",
                              "America/Havana",    "America/Sao_Paulo", "Pacific/Apia",        "Asia/Tehran",
                              "Africa/Casablanca", "Europe/Dublin",     "Asia/Gaza",           "America/St_Johns",
                              "Pacific/Kwajalein", "Asia/Pyongyang",    "Antarctica/Troll",    "America/Scoresbysund"};
  ZoneDirectory zones;
  std::size_t firings = 0;
  for (std::uint64_t seed = 1; seed <= plain_or_sanitized(200U, 50U); ++seed) {
    Random random{seed};
    const Sample sample = random_sample(random);
    const auto cron = Cron::parse(sample.text, sample.dialect);
    if (!cron) {
      // February 30th and the like, or a step of systemd that has one value.
      ASSERT_TRUE(cron.error().never_fires || sample.dialect == CronDialect::Systemd)
          << random.describe() << ": " << sample.text << ": " << cron.error().to_string();
      continue;
    }
    const auto zone = *zones.find(kZones[random.below(kZones.size())]);
    ExcludedDays excluded;
    if (random.chance(0.2)) {
      ASSERT_TRUE(excluded.add_weekday(static_cast<int>(random.below(7))).ok());
    }
    const DstRule rule = std::array{DstRule::Vixie, DstRule::Vixie, DstRule::Quartz, DstRule::Spring, DstRule::Systemd}[random.below(5)];
    const Seconds from = near_change(random, *zone);
    const std::vector<Seconds> expected = Walk{sample, *zone, excluded}.firings(rule, from);
    std::vector<Seconds> actual;
    for (std::optional<WallTime> at = wall(from); (at = cron->next(*zone, rule, *at, &excluded)) && *at <= wall(from + kWalk);) {
      actual.push_back(at->nanoseconds() / 1'000'000'000);
    }
    firings += expected.size();
    ASSERT_EQ(actual, expected) << random.describe() << ": " << to_string(sample.dialect) << " '" << sample.text << "' in " << zone->name()
                                << ", " << to_string(rule) << ", from " << format_rfc3339(wall(from));
  }
  EXPECT_GT(firings, 30'000U);
}

}  // namespace
}  // namespace rondo::calendar
