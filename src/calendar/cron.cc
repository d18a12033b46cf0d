// Cron: names of dialects and rules, parse and next. explain.cc has the words.
#include "rondo/calendar/cron.h"

#include <array>
#include <utility>

#include "calendar/cron_parsers.h"
#include "calendar/next_time.h"
#include "rondo/calendar/limits.h"

namespace rondo::calendar {

namespace {

constexpr std::array<std::pair<CronDialect, std::string_view>, 6> kDialects{{{CronDialect::Quartz, "quartz"},
                                                                             {CronDialect::Spring, "spring"},
                                                                             {CronDialect::Unix, "unix"},
                                                                             {CronDialect::UnixSeconds, "unix6"},
                                                                             {CronDialect::Systemd, "systemd"},
                                                                             {CronDialect::Robfig, "robfig"}}};
constexpr std::array<std::pair<DstRule, std::string_view>, 4> kRules{
    {{DstRule::Vixie, "vixie"}, {DstRule::Quartz, "quartz"}, {DstRule::Spring, "spring"}, {DstRule::Systemd, "systemd"}}};

template <class Names, class Value>
std::string_view name_in(const Names& names, Value value) noexcept {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return {};
}

template <class Value, class Names>
std::optional<Value> value_in(const Names& names, std::string_view wanted) noexcept {
  for (const auto& [value, name] : names) {
    if (name == wanted) return value;
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(CronDialect dialect) noexcept { return name_in(kDialects, dialect); }
std::optional<CronDialect> dialect_of(std::string_view name) noexcept { return value_in<CronDialect>(kDialects, name); }
std::string_view to_string(DstRule rule) noexcept { return name_in(kRules, rule); }
std::optional<DstRule> dst_rule_of(std::string_view name) noexcept { return value_in<DstRule>(kRules, name); }

std::string CronError::to_string() const { return "column " + std::to_string(column) + ": " + reason; }

Cron::Cron(std::string text, CronDialect dialect, std::string zone, std::shared_ptr<const CronFields> fields)
    : text_(std::move(text)), dialect_(dialect), zone_(std::move(zone)), fields_(std::move(fields)) {}

Result<Cron, CronError> Cron::parse(std::string_view text, CronDialect dialect) {
  if (text.size() > limits::kCronBytes) {
    return refuse(limits::kCronBytes + 1, "an expression has at most " + std::to_string(limits::kCronBytes) + " bytes");
  }
  std::string zone;
  ParsedFields fields = dialect == CronDialect::Systemd  ? parse_systemd(text, zone)
                        : dialect == CronDialect::Robfig ? parse_robfig(text, zone)
                                                         : parse_cron_fields(text, dialect);
  if (!fields) return tl::unexpected<CronError>(fields.error());
  return Cron{std::string{text}, dialect, std::move(zone), std::make_shared<const CronFields>(*fields)};
}

Result<Cron, CronError> Cron::parse(std::string_view text) {
  if (text.size() > limits::kCronBytes) return parse(text, CronDialect::Unix);
  const Result<CronDialect, CronError> dialect = detect_dialect(text);
  if (!dialect) return tl::unexpected<CronError>(dialect.error());
  return parse(text, *dialect);
}

const std::string& Cron::warning() const noexcept { return fields_->warning; }

std::optional<WallTime> Cron::next(const Zone& zone, DstRule rule, WallTime after, const ExcludedDays* excluded) const {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const Seconds from = floor_divide(after.nanoseconds(), kSecond) + 1;
  const Seconds found = next_instant(*fields_, zone, rule, from, excluded);
  // The last second of WallTime is not whole.
  if (found >= std::numeric_limits<std::int64_t>::max() / kSecond) return std::nullopt;
  return WallTime::from_nanoseconds(found * kSecond);
}

}  // namespace rondo::calendar
