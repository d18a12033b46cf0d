#include "calendar/cron_field_parser.h"

#include <algorithm>

#include "rondo/base/text.h"

namespace rondo::calendar {

namespace {

constexpr int kDigitsRead = 6;

char upper(char c) noexcept { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_letter(char c) noexcept { return upper(c) >= 'A' && upper(c) <= 'Z'; }

std::string quoted(std::string_view text) { return "'" + escape_text(text) + "'"; }

/// The largest step that quartz accepts: one that can still reach a second value.
int quartz_step_most(const FieldRule& rule) noexcept {
  switch (rule.kind) {
    case FieldKind::Second:
    case FieldKind::Minute: return 59;
    case FieldKind::Hour: return 23;
    case FieldKind::Day: return 31;
    case FieldKind::Month: return 12;
    case FieldKind::Weekday: return 7;
    case FieldKind::Year: return 129;
  }
  return 0;
}

}  // namespace

char FieldParser::peek_upper(std::size_t ahead) const { return upper(peek(ahead)); }

bool FieldParser::fault(std::size_t at, std::string reason) {
  if (!fault_) fault_ = CronError{word_.column + at, std::move(reason)};
  return false;
}

bool FieldParser::unexpected() {
  if (peek() == '\0') return fault(at_, "the " + std::string{rule_.name} + " ends too early");
  return fault(at_, quoted(word_.text.substr(at_, 1)) + " is not expected in the " + std::string{rule_.name});
}

Result<FieldValue, CronError> FieldParser::parse() {
  out_.wildcard = at_star();
  out_.star = out_.wildcard && !robfig();
  bool good = true;
  do {
    item_ = at_;
    ++items_;
    good = item() && (at_item_end() || unexpected());
  } while (good && peek() == ',' && ++at_ > 0);
  if (good) good = check_lists();
  if (good && robfig() && out_.bits == 0) good = fault(0, "the list is empty");
  if (!good) return tl::unexpected<CronError>(*fault_);
  return out_;
}

bool FieldParser::item() {
  if (at_item_end()) {
    if (robfig()) return true;  // Its lists may have empty elements.
    return fault(at_, peek() == ',' || items_ > 1 ? "the list has an empty element" : "the " + std::string{rule_.name} + " is missing");
  }
  if (peek() == '?' && !robfig()) return question_mark();
  if (has_specials() && rule_.kind == FieldKind::Day) {
    bool taken = false;
    if (!day_special(taken) || taken) return !fault_;
  }
  // In quartz L alone is the last day of the week, which is Saturday there.
  if (quartz() && rule_.kind == FieldKind::Weekday && peek_upper() == 'L' && (peek(1) == '\0' || peek(1) == ',')) {
    ++at_;
    add_value(7);
    return true;
  }
  return range_item();
}

bool FieldParser::question_mark() {
  const bool day_field = rule_.kind == FieldKind::Day || rule_.kind == FieldKind::Weekday;
  if (!has_specials()) return fault(at_, "'?' belongs to the dialects quartz, spring and robfig");
  if (!day_field) return fault(at_, "'?' stands only for the day of the month or the day of the week");
  if (word_.text.size() != 1) return fault(at_, "'?' stands alone");
  ++at_;
  out_.question = true;
  out_.all = true;
  return true;
}

/// L, L-3, LW, L-3W and 15W.
bool FieldParser::day_special(bool& taken) {
  if (peek_upper() == 'L') {
    taken = true;
    return last_day();
  }
  std::size_t digits = 0;
  while (is_digit(peek(digits))) ++digits;
  if (digits == 0 || peek_upper(digits) != 'W') {
    if (peek_upper() == 'W') return fault(at_, "W follows a day: 15W, LW");
    return true;
  }
  taken = true;
  const std::size_t begin = at_;
  int day = 0;
  if (!number(rule_.name, day)) return false;
  if (day < 1 || day > 31) return fault(begin, "the day of W is 1 to 31");
  ++at_;
  out_.day.nearest |= std::uint32_t{1} << day;
  return true;
}

bool FieldParser::last_day() {
  ++at_;
  int before = 0;
  if (peek() == '-') {
    ++at_;
    const std::size_t begin = at_;
    if (!number("offset from the last day", before)) return false;
    const int least = dialect_ == CronDialect::Spring ? 1 : 0;
    if (before < least || before > 30) return fault(begin, "the offset from the last day is " + std::to_string(least) + " to 30");
  }
  std::uint32_t* set = &out_.day.from_end;
  if (peek_upper() == 'W') {
    if (before != 0 && !quartz()) return fault(at_, "W after an offset belongs to the dialect quartz");
    ++at_;
    set = &out_.day.nearest_from_end;
  }
  *set |= std::uint32_t{1} << before;
  return true;
}

/// A number of at most kDigitsRead digits.
bool FieldParser::number(std::string_view what, int& value) {
  const std::size_t begin = at_;
  value = 0;
  while (is_digit(peek())) {
    if (at_ - begin == kDigitsRead) return fault(begin, "the " + std::string{what} + " has too many digits");
    value = value * 10 + (word_.text[at_++] - '0');
  }
  return at_ > begin || unexpected();
}

/// A number or a name.
bool FieldParser::value(int& value) {
  const std::size_t begin = at_;
  if (is_letter(peek()) && !rule_.names.empty()) {
    std::size_t letters = 0;
    while (letters < 3 && is_letter(peek(letters))) ++letters;
    const std::string_view word = word_.text.substr(at_, letters);
    const auto found =
        std::find_if(rule_.names.begin(), rule_.names.end(), [&](std::string_view name) { return same_letters(name, word); });
    if (found == rule_.names.end())
      return fault(begin, quoted(word) + " is not the name of a " + std::string{rule_.kind == FieldKind::Month ? "month" : "weekday"});
    at_ += letters;
    value = rule_.first_name + static_cast<int>(found - rule_.names.begin());
    return true;
  }
  if (!is_digit(peek())) return unexpected();
  if (!number(rule_.name, value)) return false;
  const std::string shown = "the " + std::string{rule_.name} + " " + std::to_string(value) + " is ";
  if (value < rule_.low) return fault(begin, shown + "below " + std::to_string(rule_.low));
  if (value > rule_.high) return fault(begin, shown + "above " + std::to_string(rule_.high));
  return true;
}

bool FieldParser::step(int& step) {
  ++at_;
  const std::size_t begin = at_;
  if (!number("step", step)) return false;
  if (step == 0) return fault(begin, "the step is at least 1");
  if (quartz() && step > quartz_step_most(rule_)) {
    return fault(begin, "the step " + std::to_string(step) + " is above " + std::to_string(quartz_step_most(rule_)));
  }
  return true;
}

/// 5L and 6#3 after the weekday.
bool FieldParser::after_weekday(int weekday, bool& taken) {
  if (!has_specials() || rule_.kind != FieldKind::Weekday) return true;
  const int day = quartz() ? weekday - 1 : weekday % 7;
  if (peek_upper() == 'L') {
    taken = true;
    ++at_;
    out_.weekday.last = static_cast<std::uint8_t>(out_.weekday.last | 1U << day);
  } else if (peek() == '#') {
    taken = true;
    ++at_;
    const std::size_t begin = at_;
    int nth = 0;
    if (!number("number after '#'", nth)) return false;
    if (nth < 1 || nth > 5) return fault(begin, "the number after '#' is 1 to 5");
    std::uint8_t& set = out_.weekday.nth[static_cast<std::size_t>(nth - 1)];
    set = static_cast<std::uint8_t>(set | 1U << day);
  }
  return true;
}

bool FieldParser::range_item() {
  Range range{rule_.low, rule_.star_high, 1};
  const bool spring_weekday = dialect_ == CronDialect::Spring && rule_.kind == FieldKind::Weekday;
  const bool is_star = at_star();
  // Quartz reads "/5" like "*/5".
  if (is_star) {
    if (peek() != '/') ++at_;
    out_.all = word_.text == "*";
    if (spring_weekday) range = {1, 7, 1};  // Its week begins on Monday.
  } else {
    if (!value(range.first)) return false;
    bool taken = false;
    if (!after_weekday(range.first, taken)) return false;
    if (taken) return true;
    range.last = range.first;
    if (peek() == '-') {
      ++at_;
      if (!value(range.last)) return false;
    } else if (peek() == '/') {
      range.last = std::max(range.first, spring_weekday ? rule_.high : rule_.star_high);
      out_.wildcard = out_.wildcard || range.first == rule_.low;
    }
  }
  if (peek() == '/' && !step(range.step)) return false;
  if (robfig() && is_star && range.step == 1) out_.star = out_.all = true;
  warn_of_step(range);
  return add(range, item_);
}

void FieldParser::warn_of_step(const Range& range) {
  if (range.step == 1 || range.first > range.last || range.step <= range.last - range.first || !out_.warning.empty()) return;
  out_.warning = "the step " + std::to_string(range.step) + " of the " + std::string{rule_.name} + " reaches no second value, so " +
                 quoted(word_.text.substr(item_, at_ - item_)) + " is only " + std::to_string(range.first);
}

void FieldParser::add_value(int value) {
  if (rule_.kind == FieldKind::Year) {
    out_.years.add(value);
    return;
  }
  if (rule_.kind == FieldKind::Weekday) value = quartz() ? value - 1 : value % 7;
  out_.bits |= std::uint64_t{1} << value;
}

bool FieldParser::add(const Range& range, std::size_t at) {
  int last = range.last;
  int first = range.first;
  // As the begin of a range, Sunday is 0 in spring.
  if (dialect_ == CronDialect::Spring && rule_.kind == FieldKind::Weekday && first == 7 && last != 7) first = 0;
  int turn = 0;
  if (first > last) {
    const std::string shown = "the range " + quoted(word_.text.substr(at, at_ - at)) + " ends before it begins";
    if (!quartz() || rule_.kind == FieldKind::Year) return fault(at, shown);
    turn = rule_.high - rule_.low + 1;
    last += turn;
  }
  for (int value = first; value <= last; value += range.step) add_value(value > rule_.high ? value - turn : value);
  return true;
}

/// Lists that quartz does not have.
bool FieldParser::check_lists() {
  if (!quartz() || rule_.kind != FieldKind::Weekday || items_ == 1) return true;
  if (out_.weekday.last != 0) return fault(0, "quartz has no L in a list of weekdays");
  const bool nth = std::any_of(out_.weekday.nth.begin(), out_.weekday.nth.end(), [](std::uint8_t set) { return set != 0; });
  return !nth || fault(0, "quartz has no '#' in a list of weekdays");
}

}  // namespace rondo::calendar
