#include "rondo/calendar/rfc3339.h"

#include <array>
#include <cstdio>

#include "calendar/civil.h"

namespace rondo::calendar {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  Result<WallTime> read();

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool number(std::size_t digits, int least, int most, int& value) {
    const std::size_t begin = at_;
    value = 0;
    for (std::size_t i = 0; i < digits; ++i, ++at_) {
      if (peek() < '0' || peek() > '9') return false;
      value = value * 10 + (peek() - '0');
    }
    if (value >= least && value <= most) return true;
    at_ = begin;
    return false;
  }
  bool one_of(std::string_view wanted) {
    if (at_ == text_.size() || wanted.find(peek()) == std::string_view::npos) return false;
    ++at_;
    return true;
  }
  bool date_and_time();
  bool fraction();
  bool offset();

  std::string_view text_;
  std::size_t at_ = 0;
  int year_ = 0, month_ = 0, day_ = 0, hour_ = 0, minute_ = 0, second_ = 0;
  std::int64_t nanoseconds_ = 0;
  int offset_ = 0;
};

bool Reader::date_and_time() {
  if (!number(4, 0, 9999, year_) || !one_of("-") || !number(2, 1, 12, month_) || !one_of("-") ||
      !number(2, 1, days_in_month(year_, month_), day_)) {
    return false;
  }
  return one_of("Tt ") && number(2, 0, 23, hour_) && one_of(":") && number(2, 0, 59, minute_) && one_of(":") && number(2, 0, 60, second_) &&
         fraction() && offset() && at_ == text_.size();
}

bool Reader::fraction() {
  if (!one_of(".")) return true;
  std::int64_t unit = kSecond / 10;
  const std::size_t begin = at_;
  for (; peek() >= '0' && peek() <= '9'; ++at_, unit /= 10) nanoseconds_ += unit * (peek() - '0');
  return at_ > begin;
}

bool Reader::offset() {
  if (one_of("Zz")) return true;
  const int sign = peek() == '-' ? -1 : 1;
  int hours = 0;
  int minutes = 0;
  if (!one_of("+-") || !number(2, 0, 23, hours) || !one_of(":") || !number(2, 0, 59, minutes)) return false;
  offset_ = sign * (hours * 3600 + minutes * 60);
  return true;
}

Result<WallTime> Reader::read() {
  if (!date_and_time()) {
    return failure(StatusCode::InvalidArgument, "column " + std::to_string(at_ + 1) + ": not an instant such as 2026-03-29T01:00:00Z");
  }
  if (year_ < kFirstYear || year_ > kLastYear) return failure(StatusCode::InvalidArgument, "column 1: the year is not 1678 to 2261");
  const std::int64_t seconds = days_of(year_, month_, day_) * kDaySeconds + hour_ * 3600 + minute_ * 60 + second_ - offset_;
  return WallTime::from_nanoseconds(seconds * kSecond + nanoseconds_);
}

}  // namespace

Result<WallTime> parse_rfc3339(std::string_view text) { return Reader{text}.read(); }

std::string format_rfc3339(WallTime at) {
  const std::int64_t seconds = floor_divide(at.nanoseconds(), kSecond);
  // Not at.nanoseconds() - seconds * kSecond, which overflows at the first second that there is.
  const std::int64_t rest = at.nanoseconds() % kSecond;
  const int milliseconds = static_cast<int>((rest < 0 ? rest + kSecond : rest) / 1'000'000);
  const std::int64_t day = floor_divide(seconds, kDaySeconds);
  const int time = static_cast<int>(seconds - day * kDaySeconds);
  const CivilDate date = date_of(day);
  std::array<char, 80> text;
  const int size = std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d", date.year, date.month, date.day, time / 3600,
                                 time / 60 % 60, time % 60);
  std::string result{text.data(), static_cast<std::size_t>(size)};
  if (milliseconds != 0) {
    std::snprintf(text.data(), text.size(), ".%03d", milliseconds);
    result += text.data();
  }
  return result + 'Z';
}

}  // namespace rondo::calendar
