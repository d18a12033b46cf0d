// FieldParser: one field of the dialects quartz, spring, unix, unix6 and robfig. What differs between the dialects is here as data
// (FieldRule) or as a branch on the dialect.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "calendar/cron_parsers.h"

namespace rondo::calendar {

enum class FieldKind { Second, Minute, Hour, Day, Month, Weekday, Year };

/// What a field may contain.
struct FieldRule {
  FieldKind kind;
  std::string_view name;
  int low;
  int high;
  // What '*' and an open step cover, where that is not low to high: 7 as a second Sunday is no value of its own.
  int star_high;
  std::span<const std::string_view> names;
  int first_name;
};

/// What was read of a field.
struct FieldValue {
  std::uint64_t bits = 0;  // Values below 64: all but years.
  YearSet years;
  DayFields day;
  WeekdayFields weekday;
  bool star = false;      // Begins with '*': what Vixie cron calls a star field. Robfig: has '*' or '?' without a step above 1.
  bool wildcard = false;  // The same, or 'LOW/n'.
  bool all = false;       // '*' or '?' alone.
  bool question = false;  // '?'
  std::string warning;    // Cron::warning().
};

class FieldParser {
 public:
  FieldParser(Word word, const FieldRule& rule, CronDialect dialect) : word_(word), rule_(rule), dialect_(dialect) {}
  Result<FieldValue, CronError> parse();

 private:
  struct Range {
    int first = 0;
    int last = 0;
    int step = 1;
  };
  bool quartz() const { return dialect_ == CronDialect::Quartz; }
  bool robfig() const { return dialect_ == CronDialect::Robfig; }
  /// Where an item begins that stands for all values.
  bool at_star() const { return peek() == '*' || (quartz() && peek() == '/') || (robfig() && peek() == '?'); }
  /// Quartz and spring have L, W and '#'.
  bool has_specials() const { return dialect_ == CronDialect::Quartz || dialect_ == CronDialect::Spring; }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < word_.text.size() ? word_.text[at_ + ahead] : '\0'; }
  char peek_upper(std::size_t ahead = 0) const;
  bool at_item_end() const { return peek() == '\0' || peek() == ','; }
  /// Notes the fault and returns false.
  bool fault(std::size_t at, std::string reason);
  bool unexpected();

  bool item();
  bool day_special(bool& taken);
  bool last_day();
  bool question_mark();
  bool range_item();
  bool number(std::string_view what, int& value);
  bool value(int& value);
  bool step(int& step);
  bool after_weekday(int weekday, bool& taken);
  bool add(const Range& range, std::size_t at);
  void warn_of_step(const Range& range);
  void add_value(int value);
  bool check_lists();

  Word word_;
  const FieldRule& rule_;
  CronDialect dialect_;
  std::size_t at_ = 0;
  std::size_t item_ = 0;  // Where the item begins.
  int items_ = 0;
  FieldValue out_;
  std::optional<CronError> fault_;
};

}  // namespace rondo::calendar
