#include "calendar/posix_rule.h"

#include <cstddef>

#include "calendar/civil.h"

namespace rondo::calendar {

namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  bool at_end() const { return at_ == text_.size(); }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  /// Letters, or anything within angle brackets.
  bool name() {
    const std::size_t begin = at_;
    if (take('<')) {
      while (!at_end() && text_[at_] != '>') ++at_;
      return take('>') && at_ - begin >= 5;
    }
    while (!at_end() && ((text_[at_] | 0x20) >= 'a' && (text_[at_] | 0x20) <= 'z')) ++at_;
    return at_ - begin >= 3;
  }
  bool number(int least, int most, int& value) {
    const std::size_t begin = at_;
    value = 0;
    while (!at_end() && at_ - begin < 4 && text_[at_] >= '0' && text_[at_] <= '9') value = value * 10 + (text_[at_++] - '0');
    return at_ > begin && value >= least && value <= most;
  }
  /// [+-]h[:m[:s]] in seconds.
  bool time(int hours_most, int& seconds) {
    int sign = 1;
    if (take('-')) {
      sign = -1;
    } else {
      static_cast<void>(take('+'));
    }
    int hours = 0;
    int minutes = 0;
    int rest = 0;
    if (!number(0, hours_most, hours)) return false;
    if (take(':')) {
      if (!number(0, 59, minutes)) return false;
      if (take(':') && !number(0, 59, rest)) return false;
    }
    seconds = sign * (hours * 3600 + minutes * 60 + rest);
    return true;
  }
  bool change(PosixRule::Change& change) {
    using Kind = PosixRule::Change::Kind;
    if (take('M')) {
      change.kind = Kind::Weekday;
      if (!number(1, 12, change.month) || !take('.') || !number(1, 5, change.week) || !take('.') || !number(0, 6, change.day)) return false;
    } else if (take('J')) {
      change.kind = Kind::Julian;
      if (!number(1, 365, change.day)) return false;
    } else {
      change.kind = Kind::ZeroBased;
      if (!number(0, 365, change.day)) return false;
    }
    return !take('/') || time(167, change.time);
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<PosixRule> PosixRule::parse(std::string_view text) {
  PosixRule rule;
  Reader reader{text};
  int west = 0;  // POSIX counts offsets to the west.
  if (!reader.name() || !reader.time(24, west)) return std::nullopt;
  rule.standard = -west;
  if (reader.at_end()) return rule;
  if (!reader.name()) return std::nullopt;
  rule.has_daylight = true;
  rule.daylight = rule.standard + 3600;
  if (!reader.take(',')) {
    if (!reader.time(24, west) || !reader.take(',')) return std::nullopt;
    rule.daylight = -west;
  }
  if (!reader.change(rule.begin) || !reader.take(',') || !reader.change(rule.end) || !reader.at_end()) return std::nullopt;
  return rule;
}

std::int64_t PosixRule::Change::local_in(int year) const noexcept {
  std::int64_t date = 0;
  if (kind == Kind::Weekday) {
    const std::int64_t first = days_of(year, month, 1);
    std::int64_t in_month = (day - weekday_of(first) + 7) % 7 + (week - 1) * 7;
    if (in_month >= days_in_month(year, month)) in_month -= 7;
    date = first + in_month;
  } else {
    date = days_of(year, 1, 1) + day;
    // A Julian day never counts February 29th.
    if (kind == Kind::Julian) date += is_leap(year) && day >= 60 ? 0 : -1;
  }
  return date * kDaySeconds + time;
}

std::array<PosixRule::Step, 2> PosixRule::steps_in(int year) const noexcept {
  const Step to_daylight{begin.local_in(year) - standard, daylight};
  const Step to_standard{end.local_in(year) - daylight, standard};
  if (to_standard.at <= to_daylight.at) return {to_standard, to_daylight};
  return {to_daylight, to_standard};
}

}  // namespace rondo::calendar
