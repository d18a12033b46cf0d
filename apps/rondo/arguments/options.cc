// Parses what commands.cc describes, and translates the words into Options.
#include "arguments/options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "admin/suggest.h"
#include "arguments/commands.h"
#include "backends/registry.h"
#include "manual/command_words.h"
#include "manual/man_page.h"
#include "output/exit_code.h"
#include "output/report.h"

namespace rondo::cli {
namespace {

/// The words of a command line by their described names; a given flag is present with one empty word.
class Words {
 public:
  void put(std::string_view name, std::string word) { given_[std::string{name}].push_back(std::move(word)); }
  bool has(std::string_view name) const { return given_.contains(name); }
  std::string text(std::string_view name, std::string_view absent = {}) const {
    const auto found = given_.find(name);
    return found == given_.end() ? std::string{absent} : found->second.back();
  }
  std::vector<std::string> all(std::string_view name) const {
    const auto found = given_.find(name);
    return found == given_.end() ? std::vector<std::string>{} : found->second;
  }
  /// The parser has checked that it is a number in its range.
  std::uint64_t number(std::string_view name, std::uint64_t absent) const {
    const std::string word = text(name);
    std::uint64_t value = absent;
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
  }
  double real(std::string_view name, double absent) const { return has(name) ? std::stod(text(name)) : absent; }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> given_;
};

Duration seconds_of(double seconds) { return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::min(seconds, 1e6))); }

std::string text_of(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", number);
  return text;
}

template <class Number>
bool is_within(std::string_view word, double low, double high) {
  Number value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  // Text that is not a number is in no range.
  return error == std::errc{} && end == word.data() + word.size() && static_cast<double>(value) >= low &&
         static_cast<double>(value) <= high;
}

/// A range that only rejects absurd values has no upper end in messages, and is not shown in the help.
CLI::Validator in_range(const manual::Option& option) {
  const bool whole = option.word == manual::Word::Number;
  const bool open = option.high >= manual::Option{}.high;
  const std::string low = text_of(option.low);
  const std::string high = text_of(option.high);
  const std::string refusal = std::string{whole ? "is no whole number" : "is no number"} + " from " + low + (open ? " on" : " to " + high);
  return {[whole, refusal, least = option.low, most = option.high](const std::string& word) {
            const bool fits = whole ? is_within<std::uint64_t>(word, least, most) : is_within<double>(word, least, most);
            return fits ? std::string{} : "'" + word + "' " + refusal;
          },
          open ? std::string{} : std::string{whole ? "INT" : "FLOAT"} + " in [" + low + " - " + high + "]"};
}

/// Accepts one of these words.
CLI::Validator one_of(const std::vector<std::string_view>& choices) {
  std::string all;
  for (const std::string_view choice : choices) all.append(all.empty() ? "" : ",").append(choice);
  return {[choices, all](const std::string& word) {
            if (std::ranges::find(choices, std::string_view{word}) != choices.end()) return std::string{};
            return "'" + word + "' is not one of " + all + did_you_mean(word, choices);
          },
          "{" + all + "}"};
}

/// Adds an option or argument to CLI11 and stores its words in 'words'.
void take_words(CLI::App& app, const manual::Option& option, Words& words) {
  const std::string name{option.name};
  if (option.value.empty()) {
    app.add_flag_callback(
        name, [&words, name] { words.put(name, {}); }, std::string{option.help});
    return;
  }
  CLI::Option* added = nullptr;
  if (option.list) {
    added = app.add_option_function<std::vector<std::string>>(
                   name,
                   [&words, name](const std::vector<std::string>& given) {
                     for (const std::string& word : given) words.put(name, word);
                   },
                   std::string{option.help})
                ->delimiter(',');
    added->allow_extra_args(false);
  } else {
    added = app.add_option_function<std::string>(
        name, [&words, name](const std::string& word) { words.put(name, word); }, std::string{option.help});
  }
  added->type_name(std::string{option.value});
  if (option.word == manual::Word::Number || option.word == manual::Word::Seconds) added->check(in_range(option));
  if (!option.choices.empty()) added->check(one_of(option.choices));
  if (!option.fallback.empty()) added->default_str(std::string{option.fallback});
}

void take_words(CLI::App& app, const manual::Argument& argument, Words& words) {
  const std::string name{argument.name};
  CLI::Option* const added =
      argument.many ? app.add_option_function<std::vector<std::string>>(
                          name,
                          [&words, name](const std::vector<std::string>& given) {
                            for (const std::string& word : given) words.put(name, word);
                          },
                          std::string{argument.help})
                    : app.add_option_function<std::string>(
                          name, [&words, name](const std::string& word) { words.put(name, word); }, std::string{argument.help});
  added->required(argument.required);
  if (!argument.choices.empty()) added->check(one_of(argument.choices));
}

void take_command(CLI::App& above, const manual::Command& command, Words& words) {
  CLI::App* const app = above.add_subcommand(std::string{command.name}, std::string{command.help});
  if (command.hidden) app->group("");
  for (const manual::Argument& argument : command.arguments) take_words(*app, argument, words);
  for (const manual::Option& option : command.options) take_words(*app, option, words);
  for (const manual::Command& below : command.commands) take_command(*app, below, words);
  if (!command.commands.empty()) app->require_subcommand(1);
  std::string foot{command.details};
  for (const manual::Example& example : command.examples) foot.append(foot.empty() ? "" : "\n\n").append("Example: ").append(example.line);
  if (!foot.empty()) app->footer(foot);
}

std::string footer() {
  std::string text =
      "Without --socket: $RONDO_SOCKET, else /run/rondo/rondod.sock, else $XDG_RUNTIME_DIR/rondo/rondod.sock.\n"
      "In tables, keys, names and values \\xHH stands for one byte.\n"
      "Exit codes: ";
  for (const manual::Entry& code : program().exit_codes) {
    text.append(&code == &program().exit_codes.front() ? "" : ", ").append(code.name).append(" ").append(code.meaning);
  }
  return text + ".";
}

// --- what the words become

using Action = decltype(Options::action);

/// For "--wait 3 TABLE KEY": the 3 became the TABLE, because an optional value never is a word of its own.
std::string hint_for_wait(const Words& words) {
  const std::string table = words.text("TABLE");
  if (!words.has("--wait") || table.empty() || table.find_first_not_of("0123456789.") != std::string::npos) return {};
  return "; '" + table + "' was taken as the TABLE: write --wait=" + table;
}

SetRow row_of(const Words& words, std::string_view key) {
  SetRow row{words.text("TABLE"), words.text(key), {}};
  for (const std::string& assignment : words.all("FIELD=VALUE")) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos) throw CLI::ValidationError("FIELD=VALUE", "'" + assignment + "' has no '='" + hint_for_wait(words));
    row.fields.emplace_back(assignment.substr(0, equals), assignment.substr(equals + 1));
  }
  return row;
}

template <bool is_delete>
Action write_row(const Words& words) {
  SetRow row = row_of(words, "KEY");
  row.is_delete = is_delete;
  row.replace = words.has("--replace");
  row.unset = words.all("--unset");
  if (words.has("--wait")) row.wait = seconds_of(words.real("--wait", 0));
  return row;
}
Action send_event(const Words& words) { return SendEvent{words.text("OP"), row_of(words, "DATA")}; }

Action own_call(const Words& words) {
  OwnCall asked{words.text("COMMAND"), {}};
  for (const std::string& assignment : words.all("NAME=VALUE")) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos) throw CLI::ValidationError("NAME=VALUE", "'" + assignment + "' has no '='");
    asked.arguments.emplace_back(assignment.substr(0, equals), assignment.substr(equals + 1));
  }
  return asked;
}

Action load(const Words& words) {
  LoadFile load{.file = words.text("FILE"), .dry_run = words.has("--dry-run")};
  load.diff = words.has("--diff");
  load.changes = words.has("--changes");
  load.replace = words.has("--replace");
  load.atomic = words.has("--atomic");
  if (words.has("--wait")) load.wait = seconds_of(words.real("--wait", 0));
  // The planner has the daemon's rows, so a dry run prints the difference and not the file.
  if (load.dry_run && load.is_planned()) load.diff = true;
  return load;
}

Action feed_routes(const Words& words) {
  FeedRoutes feed;
  feed.files = words.all("FILE");
  feed.synthetic = words.number("--synthetic", 0);
  feed.synthetic6 = words.number("--synthetic6", 0);
  feed.seed = words.number("--seed", feed.seed);
  feed.groups = static_cast<unsigned>(words.number("--groups", feed.groups));
  feed.also = words.all("--also");
  feed.ports.prefix = words.text("--port-prefix", feed.ports.prefix);
  feed.ports.first = static_cast<decltype(feed.ports.first)>(words.number("--port-first", static_cast<std::uint64_t>(feed.ports.first)));
  feed.ports.step = static_cast<decltype(feed.ports.step)>(words.number("--port-step", static_cast<std::uint64_t>(feed.ports.step)));
  feed.mtu = static_cast<unsigned>(words.number("--mtu", feed.mtu));
  feed.withdraw = words.has("--withdraw");
  feed.dry_run = words.has("--dry-run");
  const bool made_up = feed.synthetic != 0 || feed.synthetic6 != 0;
  if (made_up != feed.files.empty()) {
    throw CLI::ValidationError("feed routes",
                               made_up ? "takes either files or --synthetic, not both" : "needs a FILE, --synthetic or --synthetic6");
  }
  const std::string order = words.text("--order", made_up ? "shuffled" : "as-is");
  feed.order = order == "sorted" ? Order::Sorted : order == "shuffled" ? Order::Shuffled : Order::AsIs;
  return feed;
}

Action top(const Words& words) {
  constexpr std::array<std::string_view, 7> kOrders{"name", "turns", "share", "longest", "depth", "waiting", "busy"};
  const auto order = std::ranges::find(kOrders, words.text("--sort", "share"));
  return Top{.every = seconds_of(words.real("--every", 1)),
             .frames = words.has("--once") ? 1 : words.number("--batch", 0),
             .order = static_cast<SourceOrder>(order - kOrders.begin())};
}

Action turns(const Words& words) {
  const Turns asked;
  return Turns{.count = words.number("--count", asked.count),
               .recorded = words.has("--for") ? seconds_of(words.real("--for", 0)) : asked.recorded};
}

template <ReadJournal::Verb verb>
Action read_journal(const Words& words) {
  ReadJournal call{.verb = verb, .files = words.all("FILE"), .word = words.text("TEXT", words.text("KEY")), .table = words.text("--table")};
  call.lines = words.number("--lines", call.lines);
  call.follow = words.has("--follow");
  call.retry = words.has("--retry");
  if (verb == ReadJournal::Verb::Export && call.retry == words.has("--swss")) {
    throw CLI::ValidationError("journal export", "needs one of --swss and --retry");
  }
  return call;
}

template <CronCall::Verb verb>
Action cron_call(const Words& words) {
  return CronCall{.verb = verb,
                  .expression = words.text("EXPR"),
                  .dialect = words.text("--dialect"),
                  .zone = words.text("--zone", "UTC"),
                  .from = words.text("--from"),
                  .dst = words.text("--dst", "vixie"),
                  .excluded = words.text("--excluded"),
                  .count = words.number("--count", 10)};
}

Action worker_call(const Words& words) {
  return WorkerCall{.config = words.text("--config", "/etc/rondo/worker.toml"), .checks_only = words.has("--check-config")};
}

Action job_call(std::string_view name, const manual::Command& command, const Words& words) {
  JobCall call{.verb = std::string{name.substr(name.find(' ') + 1)}};
  for (const manual::Argument& argument : command.arguments) {
    for (const std::string& word : words.all(argument.name)) call.arguments.emplace_back(argument.name, word);
  }
  for (const manual::Option& option : command.options) {
    for (const std::string& word : words.all(option.name)) call.options.emplace_back(option.name, word);
  }
  return call;
}

Action replay(const Words& words) { return ReplayRun{words.all("FILE"), static_cast<unsigned>(words.number("--run", 0))}; }

Action dump(const Words& words) { return Dump{words.text("FILE")}; }
Action completion(const Words& words) { return Completion{words.text("SHELL")}; }
Action show_schema_of(const Words& words) { return ShowSchema{words.text("TABLE"), words.has("--markdown")}; }
Action manual_page(const Words&) { return Manual{}; }
Action version(const Words&) { return Version{}; }

/// Makes the call of a command under its own name; its arguments have the names of its words, in lower case.
Action call(std::string_view name, const manual::Command& command, const Words& words) {
  const auto small = [](std::string_view word) {
    std::string text;
    for (const char c : word.substr(std::min(word.find_first_not_of('-'), word.size()))) {
      text += c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return text;
  };
  Call asked{std::string{name}, {}, {}};
  for (const manual::Argument& argument : command.arguments) {
    if (words.has(argument.name)) asked.arguments.emplace_back(small(argument.name), words.text(argument.name));
  }
  const bool is_list = std::ranges::find(command.options, std::string_view{"--all"}, &manual::Option::name) != command.options.end();
  asked.wide = words.has("--wide");
  asked.all = words.has("--all");
  if (is_list) asked.count = words.number("--count", 0);
  for (const manual::Option& option : command.options) {
    const bool is_ours = option.name == "--wide" || is_list;  // Only rondo uses it, for the display.
    if (!words.has(option.name) || is_ours) continue;
    if (option.word == manual::Word::Number) {
      asked.numbers.emplace_back(small(option.name), words.number(option.name, 0));
    } else {
      asked.arguments.emplace_back(small(option.name), option.value.empty() ? "yes" : words.text(option.name));
    }
  }
  return asked;
}

/// The commands that need more than a call.
constexpr std::array<std::pair<std::string_view, Action (*)(const Words&)>, 23> kMakers{
    {{"set", write_row<false>},
     {"del", write_row<true>},
     {"send", send_event},
     {"schema", show_schema_of},
     {"call", own_call},
     {"load", load},
     {"feed routes", feed_routes},
     {"top", top},
     {"turns", turns},
     {"dump", dump},
     {"journal tail", read_journal<ReadJournal::Verb::Tail>},
     {"journal grep", read_journal<ReadJournal::Verb::Grep>},
     {"journal explain", read_journal<ReadJournal::Verb::Explain>},
     {"journal export", read_journal<ReadJournal::Verb::Export>},
     {"journal audit", read_journal<ReadJournal::Verb::Audit>},
     {"journal check", read_journal<ReadJournal::Verb::Check>},
     {"replay", replay},
     {"cron next", cron_call<CronCall::Verb::Next>},
     {"cron explain", cron_call<CronCall::Verb::Explain>},
     {"worker", worker_call},
     {"completion", completion},
     {"manual", manual_page},
     {"version", version}}};

struct Parser {
  CLI::App app{"Command line of rondod, the Rondo daemon", "rondo"};
  Words words;
  Options options;

  Parser() {
    app.require_subcommand(1);
    app.fallthrough();
    app.footer(footer());
    app.set_version_flag("--version", "rondo " RONDO_VERSION);
    for (const manual::Option& option : program().options) take_words(app, option, words);
    for (const manual::Command& command : program().commands) take_command(app, command, words);
  }

  /// Completes the options when all words are known.
  void finish() {
    std::vector<std::string_view> path;
    std::vector<std::string> names;
    for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
      at = at->get_subcommands().front();
      names.push_back(at->get_name());
    }
    path.assign(names.begin(), names.end());
    const manual::Command& command = *find_command(path);
    std::string name = names.front();
    for (std::size_t i = 1; i < names.size(); ++i) name += " " + names[i];
    take_globals();
    check_remote();
    check_store();
    check_answerer(name, command);
    if (options.store.given() && !options.timeout) options.patience = 5s;
    const auto maker = std::ranges::find(kMakers, std::string_view{name}, &std::pair<std::string_view, Action (*)(const Words&)>::first);
    if (name.starts_with("job ")) {
      options.action = job_call(name, command, words);
    } else {
      options.action = maker != kMakers.end() ? maker->second(words) : call(name, command, words);
    }
  }

 private:
  void take_globals() {
    StoreChoice& store = options.store;
    options.socket = words.text("--socket");
    options.remote = {words.text("--url"), words.text("--token-file"), words.text("--ca-file")};
    options.json = words.has("--json");
    if (words.has("--timeout")) options.timeout = options.patience = seconds_of(words.real("--timeout", 0));
    store.where = words.text("--store");
    store.database_config = words.text("--database-config");
    store.name_space = words.text("--namespace");
    store.container = words.text("--container");
    if (words.has("--separator")) store.separator = words.text("--separator").front();
    store.kind = words.text("--kind");
  }

  void check_remote() const {
    const RemoteChoice& remote = options.remote;
    if (!remote.given() && !(remote.token_file.empty() && remote.ca_file.empty()))
      throw CLI::ValidationError("--token-file, --ca-file", "need --url");
    if (remote.given() && (options.store.given() || !options.socket.empty()))
      throw CLI::ValidationError("--url", "excludes --socket and --store");
    if (remote.given() && remote.token_file.empty()) throw CLI::ValidationError("--url", "needs --token-file");
  }

  /// Checks the store's address whatever backends the command has: a malformed address is the first error.
  void check_store() const {
    const std::string& where = options.store.where;
    if (find_store_kind(where) != nullptr) return;
    const std::string scheme = where.substr(0, where.find("://"));
    throw CLI::ValidationError("--store", "'" + scheme + "://' is no kind of store: a Redis is redis://, rediss://, unix:/// or " +
                                              "redis+sentinel://, the file of a daemon file:///PATH");
  }

  void check_answerer(const std::string& name, const manual::Command& command) const {
    const StoreChoice& store = options.store;
    const bool by_itself = command.answered_by == manual::Nobody;
    if (store.given() && by_itself) {
      throw CLI::ValidationError("--store", "'" + name + "' needs none; leave --store away");
    }
    const StoreKind* const kind = store.given() ? find_store_kind(store.where) : nullptr;
    if (kind != nullptr && (command.answered_by & kind->answerer) == 0) {
      if (kind->answerer == manual::File) {
        std::string can;
        for (const manual::Command& one : program().commands) {
          if ((one.answered_by & manual::File) != 0) can.append(can.empty() ? "" : ", ").append(one.name);
        }
        throw CLI::ValidationError("--store", "a file can only be read: " + can);
      }
      if ((command.answered_by & manual::Daemon) == 0) throw CLI::ValidationError(name, "needs --store file:///PATH");
      throw CLI::ValidationError("--store", "'" + name + "' is a daemon's to answer; leave --store away");
    }
    if (store.given()) {
      if (words.has("--wait")) throw CLI::ValidationError("--wait", "goes with a daemon: only its consumers know what becomes of a row");
      for (const std::string_view option : {"--replace", "--unset", "--diff", "--changes", "--atomic"}) {
        if (words.has(option)) throw CLI::ValidationError(std::string{option}, "goes with a daemon, which knows its rows");
      }
      return;
    }
    if ((command.answered_by & manual::Daemon) == 0 && !by_itself) {
      throw CLI::ValidationError(name, (command.answered_by & manual::Redis) == 0 ? "needs --store file:///PATH" : "needs --store URL");
    }
    for (const std::string_view option : {"--database-config", "--namespace", "--container", "--separator", "--kind"}) {
      if (!words.has(option)) continue;
      throw CLI::ValidationError("--database-config, --namespace, --container, --separator, --kind", "go with --store URL");
    }
  }
};

// --- wrong usage

const manual::Option* find_option(const std::vector<manual::Option>& options, std::string_view name) {
  const auto found = std::ranges::find(options, name, &manual::Option::name);
  return found == options.end() ? nullptr : &*found;
}

/// Suggests a command or option for the first word that is neither.
std::string unknown_word(std::span<const char* const> words) {
  std::vector<std::string_view> path;
  std::vector<std::string_view> options{"--help", "--version"};
  for (const manual::Option& option : program().options) options.push_back(option.name);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") return {};
    const manual::Command* const command = find_command(path);
    if (word.starts_with("--")) {
      const std::string_view name = word.substr(0, word.find('='));
      if (std::ranges::find(options, name) == options.end()) return manual::unknown_option(word, options);
      const manual::Option* option = find_option(program().options, name);
      if (option == nullptr && command != nullptr) option = find_option(command->options, name);
      if (option != nullptr && !option->value.empty() && name == word) ++i;
      continue;
    }
    const bool is_short = word.starts_with("-") && word.size() > 1 && std::isdigit(static_cast<unsigned char>(word[1])) == 0;
    if (is_short && word != "-h") return manual::unknown_option(word, options);
    if (word.starts_with("-")) continue;
    const std::vector<manual::Command>& next = path.empty() ? program().commands : command->commands;
    if (next.empty()) continue;
    path.push_back(word);
    const manual::Command* const found = find_command(path);
    if (found == nullptr) {
      std::vector<std::string_view> names;
      for (const manual::Command& one : next) {
        if (std::ranges::find(one.meant_by, word) != one.meant_by.end())
          return "unknown command '" + std::string{word} + "'; did you mean '" + std::string{one.name} + "'?";
        if (!one.hidden) names.push_back(one.name);
      }
      return "unknown command '" + std::string{word} + "'" + did_you_mean(word, names);
    }
    for (const manual::Option& option : found->options) options.push_back(option.name);
  }
  return {};
}

/// True if a command line that cannot be parsed seems to request JSON.
bool wants_json(std::span<const char* const> words) {
  const auto end = std::ranges::find(words, std::string_view{"--"}, [](const char* word) { return std::string_view{word}; });
  return std::any_of(words.begin(), end, [](const char* word) { return std::string_view{word} == "--json"; });
}

std::string usage_error(const CLI::Error& error, std::span<const char* const> words) {
  const std::string unknown = unknown_word(words);
  if (wants_json(words)) {
    return error_json(Status{StatusCode::InvalidArgument, unknown.empty() ? error.what() : unknown}) + "\n";
  }
  if (!unknown.empty()) return "rondo: " + unknown + "\nRun 'rondo --help' for the commands, 'rondo COMMAND --help' for their options.\n";
  return std::string{"rondo: "} + error.what() + "\nRun 'rondo --help' or 'rondo COMMAND --help' for usage.\n";
}

/// Turns "--wait" into "--wait=30": an option with an optional value never takes the next word, which may be a key.
std::vector<std::string> with_fallback_values(std::span<const char* const> words) {
  std::vector<std::string> given(words.begin(), words.end());
  for (std::string& word : given) {
    if (word == "--") break;
    for (const manual::Command& command : program().commands) {
      const manual::Option* const option = find_option(command.options, word);
      if (option == nullptr || !option->value_optional) continue;
      word.append("=").append(option->fallback);
      break;
    }
  }
  return given;
}

}  // namespace

std::string JobCall::word(std::string_view argument) const {
  const auto found = std::ranges::find(arguments, argument, &std::pair<std::string, std::string>::first);
  return found == arguments.end() ? std::string{} : found->second;
}

const std::string* JobCall::find(std::string_view option) const {
  const auto found = std::find_if(options.rbegin(), options.rend(), [option](const auto& one) { return one.first == option; });
  return found == options.rend() ? nullptr : &found->second;
}

Parsed parse_command_line(int argc, const char* const* argv) {
  Parsed parsed;
  // Not passed to the parser: its words form an unfinished command line.
  if (argc > 1 && std::string_view{argv[1]} == "complete") {
    std::vector<std::string> words(argv + 2, argv + argc);
    if (!words.empty() && words.front() == "--") words.erase(words.begin());
    parsed.options.action = Complete{std::move(words)};
    return parsed;
  }
  // "help COMMAND" means "COMMAND --help".
  const std::vector<std::string> given = with_fallback_values(std::span(argv, static_cast<std::size_t>(argc)));
  std::vector<const char*> words;
  for (const std::string& word : given) words.push_back(word.c_str());
  if (argc > 1 && given[1] == "help") {
    words.erase(words.begin() + 1);
    words.push_back("--help");
  }
  argc = static_cast<int>(words.size());
  argv = words.data();
  Parser parser;
  parsed.finished = true;
  try {
    parser.app.parse(argc, argv);
    parser.finish();
    parsed.options = parser.options;
    parsed.finished = false;
  } catch (const CLI::CallForHelp&) {
    parsed.text = parser.app.help();  // The help of the named command.
  } catch (const CLI::CallForVersion& version) {
    parsed.text = std::string{version.what()} + "\n";
  } catch (const CLI::Error& error) {
    parsed.exit_code = kExitUsage;
    parsed.text = usage_error(error, std::span(argv, static_cast<std::size_t>(argc)).subspan(argc > 0 ? 1 : 0));
  }
  return parsed;
}

}  // namespace rondo::cli
