// Cron: a calendar expression in one of six dialects, checked and compiled. It returns its next instant in a time zone, and itself in
// words. A value without a clock: the result depends only on the expression, the zone, the rule and the instant.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "rondo/calendar/zone.h"

namespace rondo::calendar {

class ExcludedDays;
struct CronFields;

enum class CronDialect {
  Quartz,       // second minute hour day month weekday [year]; 1 is Sunday; exactly one of day and weekday is '?'.
  Spring,       // second minute hour day month weekday; day and weekday must both match.
  Unix,         // minute hour day month weekday; either of day and weekday matches, as in Vixie cron.
  UnixSeconds,  // The same with a second in front.
  Systemd,      // [weekdays] [date] [time] [zone], as in systemd.time(7).
  Robfig,       // [CRON_TZ=zone] minute hour day month weekday, or @every DURATION: robfig/cron v3 for Go, which Kubernetes uses.
};

/// "quartz", "spring", "unix", "unix6", "systemd" or "robfig".
std::string_view to_string(CronDialect dialect) noexcept;
/// Empty for a name that is none of these.
std::optional<CronDialect> dialect_of(std::string_view name) noexcept;

/// What happens to local times that a change of the zone's offset skips or repeats.
enum class DstRule {
  // A schedule with fixed hours and minutes fires once for each of its local times: after a gap immediately, of two at the first. A
  // schedule whose
  // hour or minute is a wildcard ('*', '*/n' or 'LOW/n') follows elapsed time: at each matching reading of the clock. A day that the zone
  // skips
  // as a whole has no firings.
  Vixie,
  // A skipped local time does not fire; a repeated one fires the second time only, so one hour of frequent firings is lost.
  Quartz,
  // A skipped local time does not fire; a repeated one fires each time. That of robfig/cron, too.
  Spring,
  // A skipped local time does not fire; a repeated one fires the first time only, so one hour of frequent firings is lost.
  Systemd,
};

/// "vixie", "quartz", "spring" or "systemd".
std::string_view to_string(DstRule rule) noexcept;
/// Empty for a name that is none of these.
std::optional<DstRule> dst_rule_of(std::string_view name) noexcept;

/// Why a text is not an expression, and where.
struct CronError {
  std::size_t column;  // Column of the byte in the text, from 1; one beyond the end if something is missing.
  std::string reason;
  bool never_fires = false;  // The text follows the rules, but no day satisfies it.
  /// "column 5: the hour 24 is above 23".
  std::string to_string() const;
};

/// An expression. Copies share the compiled form. Immutable: any thread.
class Cron {
 public:
  /// Checks and compiles 'text'. An error for text that breaks the dialect's rules, for more than limits::kCronBytes bytes, and for an
  /// expression that no day of the years 1970 to 2261 satisfies. O(length), at most 100 us.
  static Result<Cron, CronError> parse(std::string_view text, CronDialect dialect);
  /// Detects the dialect: macros and five fields are unix; seven fields, and six with '?', are quartz; other six fields are spring, and an
  /// error where unix6 would mean something else; texts with systemd's words or with ':' are systemd; CRON_TZ=, the macro for "every", and
  /// '?' in five fields are robfig.
  static Result<Cron, CronError> parse(std::string_view text);

  const std::string& text() const noexcept { return text_; }
  CronDialect dialect() const noexcept { return dialect_; }
  /// The zone that the expression names, which precedes that of the schedule; empty if it names none. Systemd's expressions and robfig's
  /// can.
  const std::string& zone() const noexcept { return zone_; }
  /// What is probably not meant, such as a step that reaches no second value ("*/90" of minutes is hourly); empty if nothing is.
  const std::string& warning() const noexcept;
  /// The expression in words: "at 02:30, on Monday to Friday".
  std::string explain() const;

  /// The first instant after 'after', to the second, whose local day is not in 'excluded'; empty if there is none until 2261, where
  /// WallTime ends. About 0.1 us for common expressions, and at most 0.2 ms.
  std::optional<WallTime> next(const Zone& zone, DstRule rule, WallTime after, const ExcludedDays* excluded = nullptr) const;

 private:
  Cron(std::string text, CronDialect dialect, std::string zone, std::shared_ptr<const CronFields> fields);

  std::string text_;
  CronDialect dialect_;
  std::string zone_;
  std::shared_ptr<const CronFields> fields_;
};

}  // namespace rondo::calendar
