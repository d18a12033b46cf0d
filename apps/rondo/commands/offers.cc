// rondo complete: answers the completion script of a shell. Bounded in time, whatever the daemon does.
#include <unistd.h>

#include <boost/json.hpp>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "arguments/completion.h"
#include "backends/backend.h"
#include "commands/actions.h"
#include "output/exit_code.h"
#include "output/print.h"
#include "rondo/base/text.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

/// How long the daemon may be silent, and how long the whole command may take.
constexpr Duration kPatience = 300ms;
constexpr unsigned kSecondsMost = 1;
constexpr std::int64_t kKeysMost = 100;

/// The value of an option among the words, "--socket PATH" or "--socket=PATH".
std::string value_of(const std::vector<std::string>& words, const std::string& option) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == option && i + 1 < words.size()) return words[i + 1];
    if (words[i].starts_with(option + "=")) return words[i].substr(option.size() + 1);
  }
  return {};
}

/// One member of each row of an answer; empty if there is no answer.
std::vector<std::string> ask(const Options& options, const std::string& command, const json::object& arguments, std::string_view member) {
  std::vector<std::string> found;
  if (options.store.given()) return found;
  const Result<std::unique_ptr<Backend>> daemon = open_backend(options);
  if (!daemon) return found;
  const Result<json::object> end = (*daemon)->call(command, arguments, [&](const json::value& row) {
    const json::value* const value = row.is_object() ? row.get_object().if_contains(member) : nullptr;
    if (value != nullptr && value->is_string()) found.emplace_back(value->get_string());
  });
  return end ? found : std::vector<std::string>{};
}

std::string text_of(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string{value->get_string()} : std::string{};
}

/// The daemon's commands; with 'parameters_of', the arguments of that command.
std::vector<Offer> commands(const Options& options, const std::string& parameters_of) {
  std::vector<Offer> found;
  if (options.store.given()) return found;
  const Result<std::unique_ptr<Backend>> daemon = open_backend(options);
  if (!daemon) return found;
  const Result<json::object> answer = (*daemon)->call("commands", {}, [&](const json::value& row) {
    if (!row.is_object()) return;
    const std::string name = text_of(row.get_object(), "name");
    if (parameters_of.empty()) found.push_back({name, text_of(row.get_object(), "help")});
    const json::value* const list = row.get_object().if_contains("arguments");
    if (name != parameters_of || list == nullptr || !list->is_array()) return;
    for (const json::value& one : list->get_array()) {
      if (!one.is_object()) continue;
      const bool fields = text_of(one.get_object(), "kind") == "fields";
      found.push_back({text_of(one.get_object(), "name") + (fields ? "." : "="), text_of(one.get_object(), "help")});
    }
  });
  return answer ? found : std::vector<Offer>{};
}

/// A text that contains pattern characters matches itself and more. The matches are checked again.
std::string pattern_of(const std::string& beginning) { return beginning + "*"; }

}  // namespace

int print_offers(const Complete& complete) {
  std::signal(SIGALRM, [](int) { ::_exit(kExitDone); });
  ::alarm(kSecondsMost);
  Options options;
  options.patience = kPatience;
  options.socket = value_of(complete.words, "--socket");
  options.store.where = value_of(complete.words, "--store");
  NameSource names{[&options] { return ask(options, "tables", {}, "table"); },
                   [&options](const std::string& table, const std::string& beginning) {
                     return ask(options, "keys", {{"table", table}, {"pattern", pattern_of(beginning)}, {"count", kKeysMost}}, "key");
                   }};
  names.commands = [&options] { return commands(options, {}); };
  names.parameters = [&options](const std::string& command) { return commands(options, command); };
  for (const Offer& offer : offers(complete.words, names)) {
    // A line feed or a tab in the daemon's text would begin another offer.
    print(visible_text(offer.word) + (offer.help.empty() ? "" : "\t") + visible_text(offer.help) + "\n");
  }
  return finish_output();
}

}  // namespace rondo::cli
