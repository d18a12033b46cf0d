#include "jobs/definition.h"

#include <array>
#include <charconv>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "output/json_text.h"
#include "rondo/base/text.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

enum class Kind : unsigned char { Text, Number, Milliseconds };
struct OptionField {
  std::string_view option;
  std::string_view field;
  Kind kind = Kind::Text;
};
constexpr std::array<OptionField, 21> kFields{{{"--handler", "handler"},
                                               {"--parameters", "parameters"},
                                               {"--dialect", "dialect"},
                                               {"--zone", "zone"},
                                               {"--dst", "dst"},
                                               {"--from", "from"},
                                               {"--until", "until"},
                                               {"--excluded", "excluded"},
                                               {"--jitter", "jitter_ms", Kind::Milliseconds},
                                               {"--priority", "priority", Kind::Number},
                                               {"--misfire", "misfire"},
                                               {"--misfire-runs", "misfire_runs", Kind::Number},
                                               {"--overlap", "overlap"},
                                               {"--overlap-scope", "overlap_scope"},
                                               {"--concurrency", "concurrency", Kind::Number},
                                               {"--route", "route"},
                                               {"--retries", "retries", Kind::Number},
                                               {"--backoff", "backoff_ms", Kind::Milliseconds},
                                               {"--attempt-timeout", "timeout_ms", Kind::Milliseconds},
                                               {"--owner", "owner"},
                                               {"--note", "note"}}};
/// Options that set the schedule, each with the word that begins its text.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kSchedules{
    {{"--cron", "cron "}, {"--every", "every "}, {"--after", "after "}, {"--at", "at "}, {"--manual", "manual"}}};

Status put(const OptionField& field, const std::string& word, json::object& definition) {
  if (field.kind == Kind::Text) {
    const bool clears_instant = word.empty() && (field.field == "from" || field.field == "until");
    definition[field.field] = clears_instant ? json::value(nullptr) : json::value(word);
  } else if (field.kind == Kind::Number) {
    std::uint64_t number = 0;
    std::from_chars(word.data(), word.data() + word.size(), number);  // The parser has checked it.
    definition[field.field] = number;
  } else {
    const Result<std::int64_t> milliseconds = milliseconds_of(word);
    if (!milliseconds) return milliseconds.error().with_context(field.option);
    definition[field.field] = *milliseconds;
  }
  return {};
}

Status put_schedule(const JobCall& call, json::object& definition) {
  std::string_view given;
  for (const auto& [option, begin] : kSchedules) {
    const std::string* const word = call.find(option);
    if (word == nullptr) continue;
    if (!given.empty()) {
      return {StatusCode::InvalidArgument, std::string{given} + " and " + std::string{option} + " exclude each other"};
    }
    given = option;
    definition["schedule"] = std::string{begin} + *word;
    if (option != "--cron") {  // They belong to the previous expression.
      if (call.find("--dialect") == nullptr) definition.erase("dialect");
    }
  }
  return {};
}

void put_list(const JobCall& call, std::string_view wanted, std::string_view field, json::object& definition) {
  if (call.find(wanted) == nullptr) return;
  json::array words;
  for (const auto& [option, word] : call.options) {
    if (option == wanted && !word.empty()) words.emplace_back(word);
  }
  definition[field] = std::move(words);
}

}  // namespace

Result<std::int64_t> milliseconds_of(std::string_view duration) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> kUnits{
      {{"ms", 1}, {"s", 1000}, {"min", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}}};
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(duration.data(), duration.data() + duration.size(), number);
  const std::string_view unit{end, static_cast<std::size_t>(duration.data() + duration.size() - end)};
  for (const auto& [name, milliseconds] : kUnits) {
    if (error != std::errc{} || unit != name || number < 0) continue;
    if (number > std::numeric_limits<std::int64_t>::max() / milliseconds) break;
    return number * milliseconds;
  }
  return failure(StatusCode::InvalidArgument,
                 "'" + std::string{duration} + "' is no duration: a whole number with ms, s, min, h or d, such as 30s");
}

Status apply_options(const JobCall& call, json::object& definition) {
  for (const auto& [option, word] : call.options) {
    if (!is_utf8(word)) return {StatusCode::InvalidArgument, std::string{option} + ": it is not UTF-8"};
  }
  if (Status schedule = put_schedule(call, definition); !schedule.ok()) return schedule;
  for (const OptionField& field : kFields) {
    const std::string* const word = call.find(field.option);
    if (word == nullptr) continue;
    if (Status bad = put(field, *word, definition); !bad.ok()) return bad;
  }
  put_list(call, "--parents", "parents", definition);
  put_list(call, "--requires", "requires", definition);
  put_list(call, "--tags", "tags", definition);
  return {};
}

json::object unescaped(json::object shown) {
  for (auto& member : shown) {
    if (member.value().is_string()) member.value() = unescape_text(member.value().get_string());
    if (json::array* const list = member.value().if_array()) {
      for (json::value& one : *list) {
        if (one.is_string()) one = unescape_text(one.get_string());
      }
    }
  }
  return shown;
}

json::object definition_of(json::object shown) { return without_state(unescaped(std::move(shown))); }

json::object without_state(json::object job) {
  job.erase("running");
  job.erase("next");
  job.erase("under_way");
  job.erase("retried");
  job.erase("warning");
  job.erase("damaged");
  return job;
}

std::string difference(const json::object& before, const json::object& after) {
  std::set<std::string> names;
  for (const auto& member : before) names.emplace(member.key());
  for (const auto& member : after) names.emplace(member.key());
  const auto line = [](char mark, const std::string& name, const json::value& value) {
    const std::string text = value.is_string() ? std::string{value.get_string()} : json_text(value);
    return std::string{mark} + " " + name + ": " + visible_text(text) + "\n";
  };
  std::string lines;
  for (const std::string& name : names) {
    const json::value* const old = before.if_contains(name);
    const json::value* const fresh = after.if_contains(name);
    if (old != nullptr && fresh != nullptr && *old == *fresh) continue;
    if (old != nullptr) lines += line('-', name, *old);
    if (fresh != nullptr) lines += line('+', name, *fresh);
  }
  return lines;
}

}  // namespace rondo::cli
