// Expressions of robfig/cron v3, as its standard parser reads them: a zone in front, five fields or a macro, and "@every DURATION".
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>

#include "calendar/cron_parsers.h"
#include "rondo/base/text.h"

namespace rondo::calendar {

namespace {

/// Seconds of the durations of Go: "1h30m", "1.5h". At least 1, and without fractions, as the library rounds. 0: it is no duration.
std::int64_t go_seconds(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 8> kUnits{
      {{"ns", 1}, {"us", 1e3}, {"\u00b5s", 1e3}, {"\u03bcs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}}};
  constexpr double kCentury = 100 * 365 * 86'400e9;
  constexpr std::string_view kNumber = "0123456789.";
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return 0;
  double total = 0;
  while (!text.empty()) {
    double number = 0;
    const std::size_t digits = std::min(text.find_first_not_of(kNumber), text.size());
    const auto [end, error] = std::from_chars(text.data(), text.data() + digits, number, std::chars_format::fixed);
    if (error != std::errc{} || end != text.data() + digits) return 0;
    text.remove_prefix(digits);
    const std::string_view unit = text.substr(0, text.find_first_of(kNumber));
    const auto known = std::ranges::find(kUnits, unit, &std::pair<std::string_view, double>::first);
    if (known == kUnits.end()) return 0;
    text.remove_prefix(unit.size());
    total += number * known->second;
  }
  if (total > kCentury) return 0;
  return std::max<std::int64_t>(std::llround(total) / 1'000'000'000, 1);
}

}  // namespace

ParsedFields parse_robfig(std::string_view text, std::string& zone) {
  std::vector<Word> words = words_of(text);
  const std::size_t end_column = words.empty() ? 1 : text.size() + 1;
  for (const std::string_view prefix : {"CRON_TZ=", "TZ="}) {
    if (words.empty() || !words[0].text.starts_with(prefix)) continue;
    zone = words[0].text.substr(prefix.size());
    if (zone.empty()) zone = "UTC";
    words.erase(words.begin());
    break;
  }
  if (words.empty() || words[0].text != "@every") return parse_cron_words(words, end_column, CronDialect::Robfig);
  if (words.size() < 2) return refuse(end_column, "a duration such as 1h30m follows @every");
  if (words.size() > 2) return refuse(words[2].column, "one duration follows @every");
  CronFields fields;
  fields.period = go_seconds(words[1].text);
  if (fields.period != 0) return fields;
  return refuse(words[1].column, "'" + escape_text(words[1].text) +
                                     "' is no duration such as 1h30m: numbers with the units h, m, s, ms, us, ns, at most 100 years");
}

}  // namespace rondo::calendar
