// Expressions of the dialects quartz, spring, unix, unix6 and robfig: macros, the split into fields, and what the fields mean together.
#include <algorithm>
#include <array>

#include "calendar/cron_field_parser.h"
#include "calendar/cron_parsers.h"
#include "rondo/base/text.h"

namespace rondo::calendar {

namespace {

constexpr std::array<std::string_view, 12> kMonths{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> kFromSunday{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};
constexpr std::array<std::string_view, 7> kFromMonday{"MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"};

constexpr FieldRule kSecond{FieldKind::Second, "second", 0, 59, 59, {}, 0};
constexpr FieldRule kMinute{FieldKind::Minute, "minute", 0, 59, 59, {}, 0};
constexpr FieldRule kHour{FieldKind::Hour, "hour", 0, 23, 23, {}, 0};
constexpr FieldRule kDay{FieldKind::Day, "day of the month", 1, 31, 31, {}, 0};
constexpr FieldRule kMonth{FieldKind::Month, "month", 1, 12, 12, kMonths, 1};
constexpr FieldRule kYear{FieldKind::Year, "year", 1970, 2099, 2099, {}, 0};
constexpr FieldRule kQuartzWeekday{FieldKind::Weekday, "day of the week", 1, 7, 7, kFromSunday, 1};
constexpr FieldRule kSpringWeekday{FieldKind::Weekday, "day of the week", 0, 7, 7, kFromMonday, 1};
constexpr FieldRule kUnixWeekday{FieldKind::Weekday, "day of the week", 0, 7, 6, kFromSunday, 0};
constexpr FieldRule kRobfigWeekday{FieldKind::Weekday, "day of the week", 0, 6, 6, kFromSunday, 0};

struct Macro {
  std::string_view name;
  std::string_view fields;  // minute hour day month weekday
};
constexpr std::array<Macro, 7> kMacros{{{"@yearly", "0 0 1 1 *"},
                                        {"@annually", "0 0 1 1 *"},
                                        {"@monthly", "0 0 1 * *"},
                                        {"@weekly", "0 0 * * 0"},
                                        {"@daily", "0 0 * * *"},
                                        {"@midnight", "0 0 * * *"},
                                        {"@hourly", "0 * * * *"}}};

bool has_seconds(CronDialect dialect) { return dialect != CronDialect::Unix && dialect != CronDialect::Robfig; }

struct Layout {
  std::vector<const FieldRule*> rules;
  std::size_t least;
};

Layout layout_of(CronDialect dialect) {
  switch (dialect) {
    case CronDialect::Quartz: return {{&kSecond, &kMinute, &kHour, &kDay, &kMonth, &kQuartzWeekday, &kYear}, 6};
    case CronDialect::Spring: return {{&kSecond, &kMinute, &kHour, &kDay, &kMonth, &kSpringWeekday}, 6};
    case CronDialect::UnixSeconds: return {{&kSecond, &kMinute, &kHour, &kDay, &kMonth, &kUnixWeekday}, 6};
    case CronDialect::Robfig: return {{&kMinute, &kHour, &kDay, &kMonth, &kRobfigWeekday}, 5};
    default: return {{&kMinute, &kHour, &kDay, &kMonth, &kUnixWeekday}, 5};
  }
}

/// What the fields of day and weekday mean together.
std::optional<CronError> join_days(CronFields& fields, const FieldValue& day, const FieldValue& weekday, CronDialect dialect,
                                   const Word& day_word, const Word& weekday_word) {
  fields.any_day = day.all;
  fields.any_weekday = weekday.all;
  if (dialect == CronDialect::Quartz) {
    if (day.question && weekday.question)
      return CronError{weekday_word.column, "only one of day of the month and day of the week may be '?'"};
    if (!day.question && !weekday.question) {
      return CronError{day_word.column, "quartz cannot combine the day of the month with the day of the week: one of them must be '?'"};
    }
  }
  // Vixie cron: either field suffices, unless one of them begins with '*'. In robfig/cron "*/2" is no such star.
  const bool unix_like = dialect != CronDialect::Quartz && dialect != CronDialect::Spring;
  fields.either = unix_like && !day.star && !weekday.star;
  return std::nullopt;
}

void take(CronFields& fields, const FieldRule& rule, const FieldValue& value) {
  switch (rule.kind) {
    case FieldKind::Second: fields.seconds = value.bits; break;
    case FieldKind::Minute: fields.minutes = value.bits; break;
    case FieldKind::Hour: fields.hours = static_cast<std::uint32_t>(value.bits); break;
    case FieldKind::Month: fields.months = static_cast<std::uint16_t>(value.bits); break;
    case FieldKind::Year:
      if (!value.all) fields.years = value.years;
      break;
    case FieldKind::Day:
      fields.day = value.day;
      fields.day.days = static_cast<std::uint32_t>(value.bits);
      break;
    case FieldKind::Weekday:
      fields.weekday = value.weekday;
      fields.weekday.weekdays = static_cast<std::uint8_t>(value.bits);
      break;
  }
  if (fields.warning.empty()) fields.warning = value.warning;
  if (rule.kind == FieldKind::Minute || rule.kind == FieldKind::Hour) fields.wildcard = fields.wildcard || value.wildcard;
}

/// The fields of a macro, as text of the dialect; an error for words that begin with '@' and are none.
Result<std::string, CronError> expand_macro(const Word& word, CronDialect dialect) {
  if (dialect == CronDialect::Quartz) return refuse(word.column, "quartz has no macros");
  for (const Macro& macro : kMacros) {
    if (dialect == CronDialect::Robfig ? macro.name != word.text : !same_letters(macro.name, word.text)) continue;
    return (has_seconds(dialect) ? "0 " : "") + std::string{macro.fields};
  }
  if (same_letters(word.text, "@reboot")) return refuse(word.column, "@reboot has no instant of the calendar");
  return refuse(word.column, "there is no macro '" + escape_text(word.text) + "'");
}

ParsedFields parse_fields(const std::vector<Word>& words, std::size_t end_column, CronDialect dialect) {
  const Layout layout = layout_of(dialect);
  const std::string expected =
      std::to_string(layout.least) + (layout.rules.size() > layout.least ? " or " + std::to_string(layout.rules.size()) : "");
  const std::string counts = std::string{to_string(dialect)} + " has " + expected + " fields, this has " + std::to_string(words.size());
  if (words.size() < layout.least) return refuse(end_column, counts);
  if (words.size() > layout.rules.size()) return refuse(words[layout.rules.size()].column, counts);
  CronFields fields;
  FieldValue day;
  FieldValue weekday;
  const std::size_t day_at = has_seconds(dialect) ? 3 : 2;
  for (std::size_t i = 0; i < words.size(); ++i) {
    Result<FieldValue, CronError> value = FieldParser{words[i], *layout.rules[i], dialect}.parse();
    if (!value) return tl::unexpected<CronError>(value.error());
    take(fields, *layout.rules[i], *value);
    if (i == day_at) day = *value;
    if (i == day_at + 2) weekday = *value;
  }
  fields.day.nearest_skips = dialect == CronDialect::Spring;
  if (const auto fault = join_days(fields, day, weekday, dialect, words[day_at], words[day_at + 2]))
    return tl::unexpected<CronError>(*fault);
  // The day is what leaves a month without a match, in combination with the month or the year.
  if (next_local(fields, 0, kNoTime, nullptr) == kNoTime) return never_fires(words[day_at].column);
  return fields;
}

}  // namespace

ParsedFields parse_cron_words(const std::vector<Word>& words, std::size_t end_column, CronDialect dialect) {
  if (words.empty()) return refuse(end_column, "the expression is empty");
  if (words[0].text.front() != '@') return parse_fields(words, end_column, dialect);
  if (words.size() > 1) return refuse(words[1].column, "a macro stands alone");
  const Result<std::string, CronError> expanded = expand_macro(words[0], dialect);
  if (!expanded) return tl::unexpected<CronError>(expanded.error());
  return parse_fields(words_of(*expanded), expanded->size() + 1, dialect);
}

ParsedFields parse_cron_fields(std::string_view text, CronDialect dialect) {
  const std::vector<Word> words = words_of(text);
  return parse_cron_words(words, words.empty() ? 1 : text.size() + 1, dialect);
}

}  // namespace rondo::calendar
