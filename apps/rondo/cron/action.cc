// `rondo cron next` and `rondo cron explain`: expressions without a daemon. A fault of the expression, the zone or the instant is wrong
// usage.
#include <boost/json.hpp>
#include <memory>
#include <optional>
#include <string>

#include "commands/actions.h"
#include "output/json_text.h"
#include "output/print.h"
#include "output/report.h"
#include "rondo/base/clock.h"
#include "rondo/base/text.h"
#include "rondo/calendar/cron.h"
#include "rondo/calendar/excluded_days.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/calendar/zone.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;
using calendar::Cron;
using calendar::CronError;

Result<Cron, CronError> parse(const CronCall& call) {
  if (call.dialect.empty()) return Cron::parse(call.expression);
  return Cron::parse(call.expression, calendar::dialect_of(call.dialect).value());
}

void warn(const Cron& cron) {
  if (!cron.warning().empty()) print_error("rondo: warning: " + cron.warning() + "\n");
}

int refuse(const Options& options, const CronCall& call, const CronError& error) {
  return report(options, {StatusCode::InvalidArgument, "'" + escape_text(call.expression) + "', " + error.to_string()}, kExitUsage);
}

/// Where 'cron next' starts and what it assumes.
struct Question {
  std::shared_ptr<const calendar::Zone> zone;
  calendar::DstRule rule;
  calendar::ExcludedDays excluded;
  WallTime from;
};

/// The expression's own zone precedes --zone.
Result<Question> question_of(const CronCall& call, const std::string& own_zone) {
  calendar::ZoneDirectory zones;
  Result<std::shared_ptr<const calendar::Zone>> zone = zones.find(own_zone.empty() ? call.zone : own_zone);
  if (!zone) return failure(zone.error());
  Result<calendar::ExcludedDays> excluded = calendar::ExcludedDays::parse(call.excluded);
  if (!excluded) return failure(excluded.error().with_context("--excluded '" + escape_text(call.excluded) + "'"));
  Question question{*std::move(zone), calendar::dst_rule_of(call.dst).value(), *std::move(excluded), {}};
  if (call.from.empty()) {
    question.from = SystemClock{}.wall_now();
    return question;
  }
  const Result<WallTime> from = calendar::parse_rfc3339(call.from);
  if (!from) return failure(from.error().with_context("--from '" + escape_text(call.from) + "'"));
  question.from = *from;
  return question;
}

int print_next(const Options& options, const CronCall& call) {
  const Result<Cron, CronError> cron = parse(call);
  // An expression without any instant has an answer; only a job refuses it.
  if (!cron && !cron.error().never_fires) return refuse(options, call, cron.error());
  const Result<Question> question = question_of(call, cron ? cron->zone() : std::string{});
  if (!question) return report(options, question.error(), kExitUsage);
  if (cron) warn(*cron);
  json::array instants;
  bool ended = !cron;
  WallTime at = question->from;
  for (std::uint64_t i = 0; i < call.count && !ended; ++i) {
    const std::optional<WallTime> next = cron->next(*question->zone, question->rule, at, &question->excluded);
    ended = !next;
    if (!next) break;
    at = *next;
    const std::string text = calendar::format_rfc3339(at);
    if (options.json) {
      instants.emplace_back(text);
    } else {
      print(text + "\n");
    }
  }
  if (options.json) {
    print(json_text(json::object{{"expression", visible_text(call.expression)},
                                 {"dialect", cron                   ? json::value(to_string(cron->dialect()))
                                             : call.dialect.empty() ? json::value(nullptr)
                                                                    : json::value(call.dialect)},
                                 {"zone", question->zone->name()},
                                 {"dst", to_string(question->rule)},
                                 {"from", calendar::format_rfc3339(question->from)},
                                 {"instants", std::move(instants)},
                                 {"ended", ended}}) +
          "\n");
  } else if (ended) {
    print("NEVER\n");
  }
  return finish_output();
}

int print_words(const Options& options, const CronCall& call) {
  const Result<Cron, CronError> cron = parse(call);
  if (!cron) return refuse(options, call, cron.error());
  warn(*cron);
  if (options.json) {
    print(json_text(json::object{
              {"expression", visible_text(call.expression)}, {"dialect", to_string(cron->dialect())}, {"words", cron->explain()}}) +
          "\n");
  } else {
    print(cron->explain() + "\n");
  }
  return finish_output();
}

}  // namespace

int cron(const Options& options, const CronCall& call) {
  return call.verb == CronCall::Verb::Next ? print_next(options, call) : print_words(options, call);
}

}  // namespace rondo::cli
