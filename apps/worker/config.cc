#include "worker/config.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <set>
#include <system_error>

#include <toml++/toml.h>

#include "admin/suggest.h"
#include "base/bounded_file.h"
#include "base/toml_nesting.h"
#include "rondo/base/text.h"
#include "worker/command_line.h"
#include "worker/limits.h"

namespace rondo::worker {

namespace {

/// One section: reads keys, and keeps the first complaint of the file.
class Section {
 public:
  Section(const toml::table& table, std::string name, const std::string& file, Status& trouble)
      : table_(table), name_(std::move(name)), file_(file), trouble_(trouble) {}
  ~Section() {
    for (const auto& [key, node] : table_) {
      if (!known_.contains(key.str())) complain(node, "'" + escape_text(key.str()) + "' is unknown" + hint(key.str()));
    }
  }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  const toml::node* find(std::string_view key) {
    known_.emplace(key);
    return table_.get(key);
  }
  void text(std::string_view key, std::string& value) {
    const toml::node* const node = find(key);
    if (node == nullptr) return;
    const auto* const text = node->as_string();
    if (text == nullptr || text->get().find('\0') != std::string::npos) return complain(*node, "'" + std::string{key} + "' must be a text");
    value = text->get();
  }
  void flag(std::string_view key, bool& value) {
    const toml::node* const node = find(key);
    if (node == nullptr) return;
    const auto* const flag = node->as_boolean();
    flag == nullptr ? complain(*node, "'" + std::string{key} + "' must be true or false") : static_cast<void>(value = flag->get());
  }
  template <class Number>
  void number(std::string_view key, std::int64_t low, std::int64_t high, Number& value) {
    const toml::node* const node = find(key);
    if (node == nullptr) return;
    const auto* const number = node->as_integer();
    if (number == nullptr || number->get() < low || number->get() > high)
      return complain(*node, "'" + std::string{key} + "' must be an integer from " + std::to_string(low) + " to " + std::to_string(high));
    value = static_cast<Number>(number->get());
  }
  void seconds(std::string_view key, std::int64_t low, Duration& value) {
    std::int64_t seconds = value / 1s;
    number(key, low, std::int64_t{365} * 24 * 3600, seconds);
    value = seconds * 1s;
  }
  void texts(std::string_view key, std::vector<std::string>& values) {
    const toml::node* const node = find(key);
    if (node == nullptr) return;
    const auto* const list = node->as_array();
    if (list == nullptr) return complain(*node, "'" + std::string{key} + "' must be a list of texts");
    for (const toml::node& item : *list) {
      const auto* const text = item.as_string();
      if (text == nullptr || text->get().find('\0') != std::string::npos)
        return complain(*node, "'" + std::string{key} + "' must be a list of texts");
      values.push_back(text->get());
    }
  }
  /// One text, or a list of them.
  void text_or_texts(std::string_view key, std::vector<std::string>& values) {
    const toml::node* const node = find(key);
    if (node == nullptr || node->is_array()) return texts(key, values);
    if (!node->is_string()) return complain(*node, "'" + std::string{key} + "' must be a text or a list of texts");
    text(key, values.emplace_back());
  }
  const toml::table* section(std::string_view key) {
    const toml::node* const node = find(key);
    if (node == nullptr) return nullptr;
    if (!node->is_table()) complain(*node, "'" + std::string{key} + "' must be a section" + (key == "command" ? ": [command.NAME]" : ""));
    return node->as_table();
  }
  void complain(const toml::node& node, const std::string& what) { complain_at(node.source().begin.line, what); }
  void complain(const std::string& what) { complain_at(table_.source().begin.line, what); }
  const std::set<std::string, std::less<>>& known() const noexcept { return known_; }

 private:
  std::string hint(std::string_view key) const;
  void complain_at(std::uint32_t line, const std::string& what) {
    if (trouble_.ok())
      trouble_ = {StatusCode::InvalidArgument,
                  file_ + ":" + std::to_string(line) + ": " + (name_.empty() ? what : "[" + name_ + "] " + what)};
  }
  const toml::table& table_;
  const std::string name_;
  const std::string& file_;
  Status& trouble_;
  std::set<std::string, std::less<>> known_;
};

bool is_name(std::string_view name) { return is_command_name(name); }

/// "a-z0-9_" as a set; a '-' at the beginning or the end stands for itself.
std::bitset<256> set_of(std::string_view text) {
  std::bitset<256> set;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto first = static_cast<unsigned char>(text[at]);
    if (at + 2 < text.size() && text[at + 1] == '-') {
      for (unsigned c = first; c <= static_cast<unsigned char>(text[at + 2]); ++c) set.set(c);
      at += 2;
    } else {
      set.set(first);
    }
  }
  return set;
}

ParameterRule read_parameter(Section& s, const std::string& name) {
  ParameterRule rule;
  const toml::node* const fallback = s.find("default");
  if (fallback != nullptr) s.text("default", rule.fallback.emplace());
  s.texts("values", rule.values);
  const toml::node* const values = s.find("values");
  if (values != nullptr && rule.values.empty()) s.complain(*values, "'values' is empty: no value is allowed");
  if (s.find("characters") != nullptr) {
    std::string characters;
    s.text("characters", characters);
    rule.bytes = set_of(characters);
  }
  s.number("bytes", 0, 65'536, rule.bytes_max);
  s.flag("may_begin_with_dash", rule.may_begin_with_dash);
  if (fallback == nullptr) return rule;
  if (const Status bad = check_value(name, rule, *rule.fallback); !bad.ok())
    s.complain(*fallback, "'default': " + std::string{bad.message()});
  return rule;
}

void check_placeholders(Section& s, const CommandRule& rule) {
  for (const std::string& argument : rule.arguments) {
    const auto names = placeholders_of(argument);
    if (!names) {
      s.complain("'arguments': " + std::string{names.error().message()});
      continue;
    }
    for (const std::string& name : *names) {
      if (name == "parameters" && !rule.parameters.empty())
        s.complain("'arguments': {parameters} stands for all parameters, so the command cannot have a section for each");
      else if (!is_built_in(name) && !rule.parameters.contains(name))
        s.complain("'arguments': {" + escape_text(name) + "} is no parameter of the command");
    }
  }
}

CommandRule read_command(Section& s, const std::string& name, const std::string& file, Status& trouble) {
  CommandRule rule;
  rule.name = name;
  s.text("program", rule.program);
  s.texts("arguments", rule.arguments);
  if (const toml::table* const environment = s.section("environment")) {
    Section of{*environment, "command." + name + ".environment", file, trouble};
    for (const auto& [key, node] : *environment) {
      std::string value;
      of.text(key.str(), value);
      if (key.str().empty() || key.str().find('=') != std::string_view::npos)
        of.complain(node, "'" + escape_text(key.str()) + "': a variable's name is not empty and has no '='");
      if (is_run_variable(key.str())) of.complain(node, "'" + std::string{key.str()} + "' is a variable that the worker sets for each run");
      rule.environment.emplace_back(std::string{key.str()}, std::move(value));
    }
  }
  s.text("directory", rule.directory);
  s.text("user", rule.user);
  s.seconds("timeout_s", 0, rule.timeout);
  s.seconds("grace_s", 0, rule.grace);
  s.number("log_bytes", 4'096, std::int64_t{1} << 40, rule.log_bytes);
  s.number("concurrency", 1, 256, rule.concurrency);
  s.flag("may_gain_privileges", rule.may_gain_privileges);
  s.flag("parameters_as_input", rule.parameters_as_input);
  if (const toml::table* const parameters = s.section("parameters")) {
    for (const auto& [key, node] : *parameters) {
      const std::string parameter{key.str()};
      if (!node.is_table() || !is_name(parameter) || is_built_in(parameter)) {
        s.complain(node, "'parameters': '" + escape_text(parameter) + "' must be a section, and its name must not be one of the run's own");
        continue;
      }
      Section of{*node.as_table(), "command." + name + ".parameters." + parameter, file, trouble};
      rule.parameters[parameter] = read_parameter(of, parameter);
    }
  }
  if (!rule.program.starts_with('/')) s.complain("'program' must be an absolute path");
  if (s.find("directory") != nullptr && !rule.directory.starts_with('/')) s.complain("'directory' must be an absolute path");
  if (rule.parameters_as_input && !rule.parameters.empty())
    s.complain("'parameters_as_input' is for all parameters, so the command cannot have a section for each");
  check_placeholders(s, rule);
  return rule;
}

void read_worker(Section& s, WorkerConfig& config) {
  s.text("socket", config.socket);
  s.text_or_texts("url", config.urls);
  s.text("token_file", config.token_file);
  s.text("ca_file", config.ca_file);
  if (!config.urls.empty() && !config.socket.empty()) s.complain("'url' and 'socket' exclude each other");
  if (config.urls.empty() != config.token_file.empty()) s.complain("'url' and 'token_file' need each other");
  if (config.urls.size() > limits::kServers) s.complain("'url' has at most " + std::to_string(limits::kServers) + " servers");
  s.text("name", config.name);
  s.text("state", config.state);
  s.number("places", 1, 256, config.places);
  s.number("logs_bytes", 0, std::int64_t{1} << 50, config.logs_bytes);
  s.number("logs", 1, 1'000'000, config.logs);
  if (!config.name.empty() && !is_name(config.name)) s.complain("'name' has 1 to 100 letters, digits and characters of ._-");
  if (!config.state.starts_with('/')) s.complain("'state' must be an absolute path");
}

/// The sections, each with the keys that its reader looks up.
std::vector<std::pair<std::string, std::set<std::string, std::less<>>>> known_keys() {
  const toml::table none;
  const std::string file;
  Status trouble;
  WorkerConfig config;
  Section worker{none, {}, file, trouble};
  Section command{none, {}, file, trouble};
  Section parameter{none, {}, file, trouble};
  read_worker(worker, config);
  read_command(command, {}, file, trouble);
  read_parameter(parameter, {});
  return {{"[worker]", worker.known()}, {"[command.NAME]", command.known()}, {"[command.NAME.parameters.NAME]", parameter.known()}};
}

/// Such as "; did you mean [command.NAME] grace_s?"
std::string Section::hint(std::string_view key) const {
  const std::vector<std::string_view> names(known_.begin(), known_.end());
  const std::string_view near = nearest_name(key, names);
  std::string meant = near.empty() ? std::string{} : "'" + std::string{near} + "'";
  for (const auto& [section, keys] : known_keys()) {
    if (keys.contains(key)) meant += (meant.empty() ? "" : " or ") + section + " " + std::string{key};
  }
  return meant.empty() ? meant : "; did you mean " + meant + "?";
}

Result<WorkerConfig> from_table(const toml::table& root, const std::string& file) {
  WorkerConfig config;
  config.file = file;
  Status trouble;
  {
    Section s{root, "", file, trouble};
    if (const toml::table* const worker = s.section("worker")) {
      Section of{*worker, "worker", file, trouble};
      read_worker(of, config);
    }
    if (const toml::table* const commands = s.section("command")) {
      for (const auto& [key, node] : *commands) {
        const std::string name{key.str()};
        if (!node.is_table() || !is_name(name)) {
          s.complain(node, "[command] '" + escape_text(name) +
                               "' must be a section with a name of letters, digits and characters of ._-: [command.NAME]");
          continue;
        }
        Section of{*node.as_table(), "command." + name, file, trouble};
        config.commands[name] = read_command(of, name, file, trouble);
      }
    }
    if (config.commands.size() > 256) s.complain("there are more than 256 commands");
  }
  if (trouble.ok() && config.commands.empty())
    trouble = {StatusCode::InvalidArgument, file + ": there is no [command.NAME]: the worker would have nothing to do"};
  if (!trouble.ok()) return failure(std::move(trouble));
  return config;
}

}  // namespace

bool is_command_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= 100 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  });
}

Result<WorkerConfig> parse_worker_config(std::string_view text, const std::string& name) {
  if (Status nests = check_nesting(text, name); !nests.ok()) return failure(std::move(nests));
  try {
    return from_table(toml::parse(text, name), name);
  } catch (const toml::parse_error& error) {
    return failure(StatusCode::InvalidArgument,
                   name + ":" + std::to_string(error.source().begin.line) + ": " + std::string{error.description()});
  }
}

Result<WorkerConfig> read_worker_config(const std::string& path, Pipes pipes) {
  const Result<std::string> text = read_bounded_file(path, "the configuration", limits::kWorkerConfigBytes, pipes);
  return text ? parse_worker_config(*text, path) : failure(text.error());
}

std::vector<std::string> unready_commands(const WorkerConfig& config) {
  std::vector<std::string> unready;
  const auto add = [&](const std::string& command, const char* key, const std::string& path, const std::string& why) {
    unready.push_back(config.file + ": [command." + command + "] " + key + ": " + path + ": " + why);
  };
  for (const auto& [name, rule] : config.commands) {
    std::error_code error;
    const auto program = std::filesystem::status(rule.program, error);
    if (!std::filesystem::is_regular_file(program)) {
      add(name, "program", rule.program, error ? error.message() : "is no program");
    } else if (::access(rule.program.c_str(), X_OK) != 0) {
      add(name, "program", rule.program, std::generic_category().message(errno));
    }
    if (!rule.directory.empty() && !std::filesystem::is_directory(rule.directory, error))
      add(name, "directory", rule.directory, error ? error.message() : "is no folder");
  }
  return unready;
}

}  // namespace rondo::worker
