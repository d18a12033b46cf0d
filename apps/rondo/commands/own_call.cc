#include "commands/own_call.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "admin/suggest.h"
#include "rondo/base/text.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

struct Parameter {
  std::string name;
  std::string kind;
  bool required = false;
};

std::string text_member(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string{value->get_string()} : std::string{};
}

std::vector<Parameter> parameters_of(const json::object& command) {
  std::vector<Parameter> all;
  const json::value* const list = command.if_contains("arguments");
  if (list == nullptr || !list->is_array()) return all;
  for (const json::value& one : list->get_array()) {
    const json::object* const object = one.if_object();
    if (object == nullptr) continue;
    const json::value* const required = object->if_contains("required");
    all.push_back(
        {text_member(*object, "name"), text_member(*object, "kind"), required != nullptr && required->is_bool() && required->get_bool()});
  }
  return all;
}

/// Returns "rondo call drain backend=TEXT [seconds=INTEGER]".
std::string usage(const std::string& command, const std::vector<Parameter>& parameters) {
  std::string line = "; usage: rondo call " + command;
  for (const Parameter& one : parameters) {
    const std::string kind = one.kind == "integer" ? "INTEGER" : one.kind == "flag" ? "true|false" : "TEXT";
    const std::string word = one.name + (one.kind == "fields" ? ".FIELD=" : "=") + kind;
    line += one.required ? " " + word : " [" + word + "]";
  }
  return line;
}

std::string typed(std::string_view word) { return escape_text(unescape_text(word)); }

Result<json::value> value_of(const Parameter& parameter, const std::string& word) {
  if (parameter.kind == "integer") {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error == std::errc{} && end == word.data() + word.size()) return json::value(number);
    return failure(StatusCode::InvalidArgument,
                   "argument '" + parameter.name + "' must be an integer of 64 bits, and '" + word + "' is none");
  }
  if (parameter.kind == "rows")
    return failure(StatusCode::InvalidArgument, "argument '" + parameter.name + "' is a list of rows, which has no form on a command line");
  if (parameter.kind == "flag") {
    if (word == "true" || word == "yes") return json::value(true);
    if (word == "false" || word == "no") return json::value(false);
    return failure(StatusCode::InvalidArgument, "argument '" + parameter.name + "' must be true or false, and '" + word + "' is neither");
  }
  return json::value(typed(word));
}

/// Finds the command of this name in the answer of `commands`.
Result<json::object> find_own(Backend& backend, const std::string& name) {
  const Result<json::object> answer = backend.call("commands", {}, {});
  if (!answer) return failure(answer.error());
  std::vector<std::string> names;
  const json::value* const rows = answer->if_contains("rows");
  if (rows == nullptr || !rows->is_array())
    return failure(StatusCode::DataLoss, "the daemon's answer makes no sense: its commands have no rows");
  for (const json::value& row : rows->get_array()) {
    if (!row.is_object()) continue;
    names.push_back(text_member(row.get_object(), "name"));
    if (names.back() == name) return row.get_object();
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  return failure(StatusCode::NotFound, "the daemon has no command '" + name + "'" + did_you_mean(name, views));
}

/// Adds one NAME=VALUE to 'arguments'; for fields NAME.FIELD=VALUE.
Status put(json::object& arguments, const std::vector<Parameter>& parameters, const std::string& name, const std::string& word) {
  std::vector<std::string_view> names;
  for (const Parameter& one : parameters) {
    names.push_back(one.name);
    if (one.kind == "fields" && name.starts_with(one.name + ".")) {
      json::value& fields = arguments.emplace(one.name, json::array{}).first->value();
      if (!fields.is_array()) break;  // The daemon gives two arguments one name.
      fields.get_array().push_back(json::array{json::string{typed(name.substr(one.name.size() + 1))}, json::string{typed(word)}});
      return {};
    }
    if (one.name != name || one.kind == "fields") continue;
    const Result<json::value> value = value_of(one, word);
    if (!value) return value.error();
    if (!arguments.emplace(name, *value).second) return {StatusCode::InvalidArgument, "argument '" + name + "' is given twice"};
    return {};
  }
  return {StatusCode::InvalidArgument, "there is no argument '" + name + "'" + did_you_mean(name, names)};
}

}  // namespace

Result<json::object> own_arguments(Backend& backend, const OwnCall& asked) {
  const Result<json::object> command = find_own(backend, asked.command);
  if (!command) return failure(command.error());
  const std::vector<Parameter> parameters = parameters_of(*command);
  const auto refused = [&](const Status& why) {
    return failure(why.code(), std::string{why.message()} + usage(asked.command, parameters));
  };
  json::object arguments;
  for (const auto& [name, word] : asked.arguments) {
    if (const Status taken = put(arguments, parameters, name, word); !taken.ok()) return refused(taken);
  }
  for (const Parameter& one : parameters) {
    if (one.required && !arguments.contains(one.name))
      return refused({StatusCode::InvalidArgument, "argument '" + one.name + "' is missing"});
  }
  return arguments;
}

}  // namespace rondo::cli
