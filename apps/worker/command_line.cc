#include "worker/command_line.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "base/doubled_name.h"
#include "rondo/base/text.h"
#include "worker/limits.h"
#include "worker/output_lines.h"

namespace rondo::worker {

namespace {

namespace json = boost::json;

using Values = std::map<std::string, std::string, std::less<>>;

constexpr std::array<std::string_view, 5> kBuiltIn{"run", "job", "attempt", "scheduled", "parameters"};

/// Those of them that a command gets as variables.
constexpr std::array<std::string_view, 4> kVariables{"run", "job", "attempt", "scheduled"};
constexpr std::string_view kParametersVariable = "RONDO_PARAMETERS";

/// Such as RONDO_RUN.
std::string variable_of(std::string_view name) {
  std::string variable = "RONDO_" + std::string{name};
  std::ranges::transform(variable, variable.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return variable;
}

Status wrong(std::string why) { return {StatusCode::InvalidArgument, std::move(why)}; }

/// Calls 'literal' for each piece of fixed text, and 'name' for each placeholder.
Status take_apart(std::string_view text, const std::function<void(std::string_view)>& literal,
                  const std::function<Status(std::string_view)>& name) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t brace = text.find_first_of("{}", at);
    if (brace == std::string_view::npos) {
      literal(text.substr(at));
      return {};
    }
    literal(text.substr(at, brace - at));
    if (brace + 1 < text.size() && text[brace + 1] == text[brace]) {
      literal(text.substr(brace, 1));
      at = brace + 2;
      continue;
    }
    const std::size_t end = text[brace] == '{' ? text.find('}', brace) : std::string_view::npos;
    if (end == std::string_view::npos) return wrong("'" + std::string{text} + "' has an unmatched brace: {{ and }} stand for { and }");
    if (Status taken = name(text.substr(brace + 1, end - brace - 1)); !taken.ok()) return taken;
    at = end + 1;
  }
  return {};
}

std::optional<std::string> text_of(const json::value& value) {
  if (const auto* const text = value.if_string()) return std::string{text->data(), text->size()};
  if (value.is_bool() || value.is_int64() || value.is_uint64()) return json::serialize(value);
  // Boost writes 0.5 as 5E-1. Beyond this size a number may have lost digits when it was read.
  constexpr double kExact = 9'007'199'254'740'992;
  const double* const real = value.if_double();
  if (real == nullptr || !(std::abs(*real) < kExact)) return std::nullopt;
  std::array<char, 32> digits{};
  return std::string{digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), *real).ptr};
}

/// The members of the job's parameters, checked against the rules of the command.
Result<Values> declared_values(const CommandRule& rule, std::string_view parameters) {
  json::object given;
  if (!parameters.empty()) {
    json::error_code failed;
    const json::value value = json::parse(json::string_view{parameters.data(), parameters.size()}, failed);
    if (failed || !value.is_object()) return failure(wrong("the parameters of the job must be a JSON object"));
    if (const auto doubled = doubled_name(parameters))
      return failure(wrong("the parameter '" + escape_text(doubled->name) + "' is there twice"));
    given = value.get_object();
  }
  Values values;
  for (const auto& [name, value] : given) {
    const auto known = rule.parameters.find(std::string_view{name.data(), name.size()});
    if (known == rule.parameters.end()) return failure(wrong("the command has no parameter '" + escape_text(std::string_view{name}) + "'"));
    std::optional<std::string> text = text_of(value);
    if (!text)
      return failure(
          wrong("the parameter '" + known->first + "' must be a text, a number below 2^53 or an integer of 64 bits, true or false"));
    if (Status bad = check_value(known->first, known->second, *text); !bad.ok()) return failure(std::move(bad));
    values[known->first] = *std::move(text);
  }
  for (const auto& [name, of] : rule.parameters) {
    if (values.contains(name)) continue;
    if (!of.fallback) return failure(wrong("the job does not give the parameter '" + name + "'"));
    values[name] = *of.fallback;
  }
  return values;
}

/// How often a text has what begins a line with which a command reports progress or its result.
std::size_t reports_in(std::string_view text) {
  std::size_t count = 0;
  for (const std::string_view mark : {kProgressMark, kResultMark}) {
    for (std::size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + 1)) ++count;
  }
  return count;
}

/// The same for what a command would find in a JSON text, where the letters may be escaped.
std::size_t reports_in(const json::value& value) {
  if (const auto* const text = value.if_string()) return reports_in(std::string_view{text->data(), text->size()});
  std::size_t count = 0;
  if (const auto* const array = value.if_array()) {
    for (const json::value& one : *array) count += reports_in(one);
  } else if (const auto* const object = value.if_object()) {
    for (const auto& [name, one] : *object) count += reports_in(std::string_view{name.data(), name.size()}) + reports_in(one);
  }
  return count;
}

/// The marks that stand across two arguments, which a command such as echo prints with a blank between them.
std::size_t reports_between(std::span<const std::string> arguments) {
  std::string all;
  std::size_t within = 0;
  for (const std::string& argument : arguments) {
    within += reports_in(argument);
    all.append(argument).append(1, ' ');
  }
  return reports_in(all) - within;
}

Status forged(std::string_view name) {
  return wrong("the parameter '" + std::string{name} + "' contains '" + std::string{kResultMark} + "' or '" + std::string{kProgressMark} +
               "', with which only the command itself may report");
}

bool uses_raw_parameters(const CommandRule& rule) {
  return std::ranges::any_of(rule.arguments, [](const std::string& argument) {
    const auto names = placeholders_of(argument);
    return names && std::ranges::find(*names, "parameters") != names->end();
  });
}

Result<Values> values_of(const CommandRule& rule, const RunOrder& order) {
  Values values;
  if (uses_raw_parameters(rule) || rule.parameters_as_input) {
    if (Status bad = check_value("parameters", {.fallback = {}, .values = {}, .bytes = {}, .bytes_max = limits::kCommandLineBytes},
                                 order.parameters);
        !bad.ok()) {
      return failure(std::move(bad));
    }
    json::error_code failed;
    if (const json::value value = json::parse(order.parameters, failed); !failed && reports_in(value) > 0)
      return failure(forged("parameters"));
    if (rule.parameters_as_input && reports_in(order.parameters) > 0) return failure(forged("parameters"));
    values["parameters"] = order.parameters;
  } else if (rule.parameters.empty() && !order.parameters.empty()) {
    return failure(wrong("the command has no parameters, and the job gives some"));
  } else {
    Result<Values> declared = declared_values(rule, order.parameters);
    if (!declared) return declared;
    values = *std::move(declared);
  }
  values["run"] = std::to_string(order.run);
  values["job"] = order.job;
  values["attempt"] = std::to_string(order.attempt);
  values["scheduled"] = order.scheduled;
  return values;
}

/// One argument with its values. A value at its beginning could be read as an option, so it may begin with '-' only where the rule allows
/// it.
Result<std::string> argument_of(const CommandRule& rule, const std::string& text, const Values& values) {
  std::string made;
  std::string fixed;
  std::string last;
  const Status status = take_apart(
      text, [&](std::string_view piece) { made.append(piece), fixed.append(piece); },
      [&](std::string_view name) -> Status {
        const auto value = values.find(name);
        if (value == values.end()) return wrong("there is no value for {" + std::string{name} + "}");
        const auto of = rule.parameters.find(name);
        const bool may_begin_with_dash = of != rule.parameters.end() && of->second.may_begin_with_dash;
        if (made.empty() && value->second.starts_with('-') && !may_begin_with_dash)
          return wrong("the parameter '" + std::string{name} + "' begins with '-', so the program could take it for an option");
        made.append(value->second);
        fixed.push_back('\0');
        last = name;
        return {};
      });
  if (!status.ok()) return failure(status);
  // A command that prints its argument would report what the writer of the job chose.
  if (reports_in(made) > reports_in(fixed)) return failure(forged(last));
  return made;
}

}  // namespace

Status check_value(const std::string& name, const ParameterRule& rule, const std::string& value) {
  const std::string of = "the parameter '" + escape_text(name) + "' ";
  if (value.find('\0') != std::string::npos) return wrong(of + "contains a NUL byte");
  if (value.size() > rule.bytes_max) return wrong(of + "has more than " + std::to_string(rule.bytes_max) + " bytes");
  if (!rule.values.empty() && std::ranges::find(rule.values, value) == rule.values.end()) return wrong(of + "is none of its values");
  if (rule.bytes) {
    const auto bad = std::ranges::find_if(value, [&rule](char c) { return !rule.bytes->test(static_cast<unsigned char>(c)); });
    if (bad != value.end()) return wrong(of + "has a character that is not allowed: '" + escape_text(std::string(1, *bad)) + "'");
  }
  return {};
}

bool is_run_key(std::string_view key) noexcept {
  return key.size() <= limits::kRunKey && key.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_run_variable(std::string_view name) {
  return name == kParametersVariable ||
         std::ranges::any_of(kVariables, [name](std::string_view of_run) { return variable_of(of_run) == name; });
}

bool is_built_in(std::string_view name) noexcept { return std::ranges::find(kBuiltIn, name) != kBuiltIn.end(); }

Result<std::vector<std::string>> placeholders_of(std::string_view text) {
  std::vector<std::string> names;
  const Status status = take_apart(
      text, [](std::string_view) {},
      [&names](std::string_view name) {
        names.emplace_back(name);
        return Status{};
      });
  if (!status.ok()) return failure(status);
  return names;
}

Result<CommandLine> command_line(const CommandRule& rule, const RunOrder& order) {
  const Result<Values> values = values_of(rule, order);
  if (!values) return failure(values.error());
  CommandLine line;
  line.arguments.push_back(rule.program);
  std::size_t bytes = rule.program.size();
  for (const std::string& argument : rule.arguments) {
    Result<std::string> made = argument_of(rule, argument, *values);
    if (!made) return failure(made.error());
    bytes += made->size() + 1;
    if (bytes > limits::kCommandLineBytes)
      return failure(wrong("the command line has more than " + std::to_string(limits::kCommandLineBytes) + " bytes"));
    line.arguments.push_back(*std::move(made));
  }
  if (reports_between(std::span<const std::string>(line.arguments).subspan(1)) > reports_between(rule.arguments))
    return failure(wrong("the arguments together contain '" + std::string{kResultMark} + "' or '" + std::string{kProgressMark} +
                         "', with which only the command itself may report"));
  for (const auto& [name, value] : rule.environment) line.environment.push_back(name + "=" + value);
  // As OpenTelemetry names them. The configuration may set them for all runs.
  const auto is_of_trace = [](const auto& one) { return one.first == "TRACEPARENT" || one.first == "TRACESTATE"; };
  if (order.trace && std::ranges::none_of(rule.environment, is_of_trace)) {
    line.environment.push_back("TRACEPARENT=" + order.trace->parent());
    if (!order.trace->state().empty()) line.environment.push_back("TRACESTATE=" + order.trace->state());
  }
  for (const std::string_view name : kVariables) line.environment.push_back(variable_of(name) + "=" + values->find(name)->second);
  if (!rule.parameters_as_input) return line;
  line.environment.push_back(std::string{kParametersVariable} + "=" + order.parameters);
  line.input = order.parameters;
  return line;
}

}  // namespace rondo::worker
