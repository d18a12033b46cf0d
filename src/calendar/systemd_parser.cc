// Systemd's calendar expressions: [weekdays] [date] [time] [zone], or one of its words such as "daily". Rules: systemd.time(7), "CALENDAR
// EVENTS", and the behaviour of `systemd-analyze calendar` of systemd 252. Fractions of seconds are refused, because firings are whole
// seconds here.
#include <algorithm>
#include <array>
#include <optional>

#include "calendar/cron_parsers.h"
#include "rondo/base/text.h"

namespace rondo::calendar {

namespace {

constexpr int kFirstSystemdYear = 1970;
constexpr int kLastSystemdYear = 2199;
constexpr int kNoStop = -1;
constexpr std::size_t kDigitsRead = 10;

struct Shorthand {
  std::string_view word;
  std::string_view text;
};
constexpr std::array<Shorthand, 13> kShorthands{{{"minutely", "*-*-* *:*:00"},
                                                 {"hourly", "*-*-* *:00:00"},
                                                 {"daily", "*-*-* 00:00:00"},
                                                 {"weekly", "Mon *-*-* 00:00:00"},
                                                 {"monthly", "*-*-01 00:00:00"},
                                                 {"quarterly", "*-01,04,07,10-01 00:00:00"},
                                                 {"semiannually", "*-01,07-01 00:00:00"},
                                                 {"semi-annually", "*-01,07-01 00:00:00"},
                                                 {"biannually", "*-01,07-01 00:00:00"},
                                                 {"bi-annually", "*-01,07-01 00:00:00"},
                                                 {"yearly", "*-01-01 00:00:00"},
                                                 {"annually", "*-01-01 00:00:00"},
                                                 {"anually", "*-01-01 00:00:00"}}};
constexpr std::array<std::string_view, 7> kWeekdays{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_letter(char c) noexcept { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

/// One element of a list: start, start..stop, start/repeat or start..stop/repeat.
struct Component {
  int start = 0;
  int stop = kNoStop;
  int repeat = 0;
  std::size_t column = 0;
};

/// The components of one field; none stands for '*'.
struct Chain {
  std::vector<Component> components;
  std::size_t column = 0;
  bool star() const { return components.empty(); }
};

struct Bounds {
  std::string_view name;
  int least;
  int most;
};

class Reader {
 public:
  Reader(std::string_view text, std::size_t end) : text_(text.substr(0, end)) {}

  ParsedFields read();

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool at_word_end() const { return peek() == '\0' || peek() == ' '; }
  void skip_blanks() {
    while (peek() == ' ') ++at_;
  }
  bool fault(std::size_t at, std::string reason) {
    if (!fault_) fault_ = CronError{at + 1, std::move(reason)};
    return false;
  }
  bool unexpected(std::string_view where) {
    if (at_ >= text_.size()) return fault(at_, "the " + std::string{where} + " ends too early");
    return fault(at_, "'" + escape_text(text_.substr(at_, 1)) + "' is not expected in the " + std::string{where});
  }

  bool weekdays();
  bool weekday(int& day);
  bool date();
  bool time();
  bool instant();
  bool chain(Chain& chain, std::string_view where);
  bool component(Component& component, std::string_view where);
  bool number(int& value, std::string_view where);
  bool check(const Chain& chain, const Bounds& bounds, bool from_end);
  bool compile();

  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<CronError> fault_;
  CronFields fields_;
  Chain year_, month_, day_, hour_, minute_, second_;
  bool from_end_ = false;
};

bool Reader::number(int& value, std::string_view where) {
  const std::size_t begin = at_;
  std::int64_t wide = 0;
  while (is_digit(peek())) {
    if (at_ - begin == kDigitsRead) return fault(begin, "the number in the " + std::string{where} + " has too many digits");
    wide = wide * 10 + (text_[at_++] - '0');
  }
  if (at_ == begin) return unexpected(where);
  value = static_cast<int>(std::min<std::int64_t>(wide, 1'000'000));
  return true;
}

bool Reader::component(Component& component, std::string_view where) {
  component.column = at_;
  if (!number(component.start, where)) return false;
  if (peek() == '.' && peek(1) == '.') {
    at_ += 2;
    if (!number(component.stop, where)) return false;
    component.repeat = 1;
    if (component.stop == component.start && peek() != '/') component = {component.start, kNoStop, 0, component.column};
  } else if (peek() == '.') {
    return fault(at_, "fractions of seconds are not supported: use a fixed rate");
  }
  if (peek() == '/') {
    const std::size_t begin = ++at_;
    if (!number(component.repeat, where)) return false;
    if (peek() == '.') return fault(at_, "fractions of seconds are not supported: use a fixed rate");
    if (component.repeat == 0) return fault(begin, "the step is at least 1");
  }
  return true;
}

bool Reader::chain(Chain& chain, std::string_view where) {
  chain.column = at_;
  chain.components.clear();
  if (peek() == '*') {
    ++at_;
    return true;
  }
  for (;;) {
    Component next;
    if (!component(next, where)) return false;
    chain.components.push_back(next);
    if (peek() != ',') return true;
    ++at_;
  }
}

bool Reader::weekday(int& day) {
  std::size_t letters = 0;
  while (is_letter(peek(letters))) ++letters;
  const std::string_view word = text_.substr(at_, letters);
  for (std::size_t i = 0; i < kWeekdays.size(); ++i) {
    if (!same_letters(word, kWeekdays[i]) && !same_letters(word, kWeekdays[i].substr(0, 3))) continue;
    day = static_cast<int>(i);
    at_ += letters;
    return true;
  }
  return fault(at_, "'" + escape_text(word) + "' is not the name of a weekday");
}

bool Reader::weekdays() {
  if (!is_letter(peek())) return true;
  unsigned set = 0;  // Bit 0 is Monday.
  for (;;) {
    const std::size_t begin = at_;
    int first = 0;
    if (!weekday(first)) return false;
    int last = first;
    if (peek() == '-' || (peek() == '.' && peek(1) == '.')) {
      at_ += std::size_t{peek() == '-' ? 1U : 2U};
      if (!is_letter(peek())) return unexpected("weekdays");
      if (!weekday(last)) return false;
      if (first > last) return fault(begin, "the range of weekdays ends before it begins: the week begins on Monday");
    }
    for (int day = first; day <= last; ++day) set |= 1U << day;
    if (peek() != ',') break;
    ++at_;
    if (at_word_end()) break;  // A comma at the end is allowed.
    if (!is_letter(peek())) return unexpected("weekdays");
  }
  if (!at_word_end()) return unexpected("weekdays");
  skip_blanks();
  fields_.any_weekday = false;
  fields_.weekday.weekdays = static_cast<std::uint8_t>((set << 1 | set >> 6) & 0x7F);
  return true;
}

bool Reader::date() {
  const std::size_t begin = at_;
  if (peek() == '\0') return true;
  Chain first;
  if (!chain(first, "date or time")) return false;
  if (peek() == '\0' || peek() == ':') {
    at_ = begin;  // It is a time.
    return true;
  }
  if (peek() != '-' && peek() != '~') return unexpected("date");
  from_end_ = peek() == '~';
  ++at_;
  Chain second;
  if (!chain(second, "date")) return false;
  if (at_word_end()) {
    month_ = first;
    day_ = second;
    skip_blanks();
    return true;
  }
  if (from_end_ || (peek() != '-' && peek() != '~')) return unexpected("date");
  from_end_ = peek() == '~';
  ++at_;
  if (!chain(day_, "date")) return false;
  if (!at_word_end()) return unexpected("date");
  year_ = first;
  month_ = second;
  skip_blanks();
  for (Component& component : year_.components) {
    for (int* year : {&component.start, &component.stop}) {
      if (*year >= 0 && *year < 100) *year += *year < 70 ? 2000 : 1900;
    }
  }
  return true;
}

bool Reader::time() {
  hour_.components = minute_.components = second_.components = {Component{}};
  if (peek() == '\0') return true;
  if (!chain(hour_, "time")) return false;
  if (peek() != ':') return unexpected("time");
  ++at_;
  if (!chain(minute_, "time")) return false;
  if (peek() == ':') {
    ++at_;
    if (!chain(second_, "time")) return false;
  }
  skip_blanks();
  return at_ == text_.size() || unexpected("time");
}

/// "@" and seconds since 1970: one instant, in UTC.
bool Reader::instant() {
  const std::size_t begin = at_++;
  std::int64_t seconds = 0;
  std::size_t digits = 0;
  for (; is_digit(peek()) && digits <= kDigitsRead; ++digits) seconds = seconds * 10 + (text_[at_++] - '0');
  if (digits == 0 || at_ != text_.size()) return unexpected("instant");
  const CivilDate date = date_of(seconds / kDaySeconds);
  if (digits > kDigitsRead || date.year > kLastSystemdYear) return fault(begin, "the instant is after the year 2199");
  const int time = static_cast<int>(seconds % kDaySeconds);
  const auto one = [](int value) { return std::vector<Component>{Component{value, kNoStop, 0, 0}}; };
  year_.components = one(date.year);
  month_.components = one(date.month);
  day_.components = one(date.day);
  hour_.components = one(time / 3600);
  minute_.components = one(time / 60 % 60);
  second_.components = one(time % 60);
  return true;
}

/// The rules of systemd: each start and stop within the bounds, and each step reaches a second value.
bool Reader::check(const Chain& chain, const Bounds& bounds, bool from_end) {
  // Counted from the end, a day must exist in each month.
  const int most = from_end ? bounds.most - 3 : bounds.most;
  for (const Component& part : chain.components) {
    const std::string name = "the " + std::string{bounds.name} + " ";
    for (const int value : {part.start, part.stop}) {
      if (value == kNoStop) continue;
      if (value < bounds.least) return fault(part.column, name + std::to_string(value) + " is below " + std::to_string(bounds.least));
      if (value > most) return fault(part.column, name + std::to_string(value) + " is above " + std::to_string(most));
    }
    if (part.stop != kNoStop && part.stop < part.start) return fault(part.column, "the range ends before it begins");
    const bool reaches = part.stop != kNoStop ? part.start + part.repeat <= part.stop
                         : from_end           ? part.start - part.repeat >= bounds.least
                                              : part.start + part.repeat <= most;
    if (!reaches || part.repeat > most - bounds.least)
      return fault(part.column, "the step of the " + std::string{bounds.name} + " reaches no second value");
  }
  return true;
}

/// Calls 'add' with each value of a chain.
template <class Add>
void each_value(const Chain& chain, int least, int most, Add&& add) {
  if (chain.star()) {
    for (int value = least; value <= most; ++value) add(value);
  }
  for (const Component& part : chain.components) {
    if (part.repeat == 0) {
      add(part.start);
      continue;
    }
    const int last = part.stop == kNoStop ? most : part.stop;
    for (int value = part.start; value <= last; value += part.repeat) add(value);
  }
}

bool Reader::compile() {
  if (!check(year_, {"year", kFirstSystemdYear, kLastSystemdYear}, false) || !check(month_, {"month", 1, 12}, false) ||
      !check(day_, {"day", 1, 31}, from_end_) || !check(hour_, {"hour", 0, 23}, false) || !check(minute_, {"minute", 0, 59}, false) ||
      !check(second_, {"second", 0, 59}, false)) {
    return false;
  }
  if (!year_.star()) each_value(year_, kFirstSystemdYear, kLastSystemdYear, [&](int year) { fields_.years.add(year); });
  fields_.last_year = kLastSystemdYear;
  each_value(month_, 1, 12, [&](int month) { fields_.months = static_cast<std::uint16_t>(fields_.months | 1U << month); });
  each_value(hour_, 0, 23, [&](int hour) { fields_.hours |= std::uint32_t{1} << hour; });
  each_value(minute_, 0, 59, [&](int minute) { fields_.minutes |= std::uint64_t{1} << minute; });
  fields_.seconds = 0;
  each_value(second_, 0, 59, [&](int second) { fields_.seconds |= std::uint64_t{1} << second; });
  const auto every = [](const Chain& chain) {
    return chain.star() || std::any_of(chain.components.begin(), chain.components.end(),
                                       [](const Component& part) { return part.start == 0 && part.stop == kNoStop && part.repeat != 0; });
  };
  fields_.wildcard = every(hour_) || every(minute_);
  fields_.any_day = day_.star();
  if (!from_end_) {
    each_value(day_, 1, 31, [&](int day) { fields_.day.days |= std::uint32_t{1} << day; });
    return true;
  }
  for (const Component& part : day_.components) {
    // The first day of the range is the furthest from the end.
    const int furthest = std::max(part.start, part.stop);
    const int last = part.stop != kNoStop ? part.start : part.repeat != 0 ? 1 : part.start;
    for (int day = furthest; day >= last; day -= std::max(part.repeat, 1)) fields_.day.from_end |= std::uint32_t{1} << (day - 1);
  }
  return true;
}

ParsedFields Reader::read() {
  fields_.any_weekday = true;
  skip_blanks();
  const std::size_t begin = at_;
  const bool good = peek() == '@' ? instant() : weekdays() && date() && time();
  if (!good || !compile()) return tl::unexpected<CronError>(*fault_);
  if (next_local(fields_, 0, kNoTime, nullptr) == kNoTime) return never_fires(std::max(day_.column, begin) + 1);
  return fields_;
}

/// Where the expression ends and the zone, if there is one, is cut off: a last word of letters behind another word.
std::size_t cut_zone(std::string_view text, std::string& zone) {
  const std::vector<Word> words = words_of(text);
  const Word& last = words.back();
  if (words.size() < 2 || !is_letter(last.text.front())) return last.column - 1 + last.text.size();
  zone = same_letters(last.text, "UTC") ? "UTC" : std::string{last.text};
  return words[words.size() - 2].column - 1 + words[words.size() - 2].text.size();
}

}  // namespace

ParsedFields parse_systemd(std::string_view text, std::string& zone) {
  const std::vector<Word> words = words_of(text);
  if (words.empty()) return refuse(1, "the expression is empty");
  const std::size_t end = cut_zone(text, zone);
  for (std::size_t i = 0; i < zone.size(); ++i) {
    if (zone[i] == '.' || zone[i] == ',')
      return refuse(words.back().column + i, "'" + escape_text(zone.substr(i, 1)) + "' is not expected in a zone's name");
  }
  if (words.size() - (zone.empty() ? 0 : 1) == 1) {
    for (const Shorthand& shorthand : kShorthands) {
      if (same_letters(shorthand.word, words[0].text)) return Reader{shorthand.text, shorthand.text.size()}.read();
    }
    if (words[0].text.front() == '@') zone = "UTC";
  }
  return Reader{text, end}.read();
}

}  // namespace rondo::calendar
