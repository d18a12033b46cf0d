#include "jobs/crontab.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "rondo/base/text.h"
#include "rondo/calendar/cron.h"
#include "rondo/jobs/limits.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

constexpr std::string_view kBlanks = " \t";
constexpr std::size_t kLineBytes = limits::kJobParameters;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  return begin == std::string_view::npos ? std::string_view{} : text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// The name before '=' if the line sets a variable.
std::optional<std::string_view> variable_of(std::string_view line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const std::string_view name = trimmed(line.substr(0, equals));
  const auto is_letter = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0) return std::nullopt;
  for (const char c : name) {
    if (!is_letter(c)) return std::nullopt;
  }
  return name;
}

std::string_view unquoted(std::string_view text) {
  const bool is_quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front();
  return is_quoted ? text.substr(1, text.size() - 2) : text;
}

/// The end of the first 'count' words of 'line'; npos if nothing follows them.
std::size_t end_of_words(std::string_view line, int count) {
  std::size_t at = 0;
  for (int i = 0; i < count; ++i) {
    at = line.find_first_of(kBlanks, at);
    if (at == std::string_view::npos) return at;
    at = line.find_first_not_of(kBlanks, at);
    if (at == std::string_view::npos) return at;
  }
  return at;
}

struct CrontabCommand {
  std::string text;
  std::optional<std::string> input;
};

/// crontab(5): the first '%' ends the command, what follows is its standard input, and each further '%' there ends a line. "\%" is a '%'.
CrontabCommand command_of(std::string_view written) {
  CrontabCommand made;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const bool is_escaped = written[i] == '\\' && i + 1 < written.size() && written[i + 1] == '%';
    if (is_escaped) ++i;
    if (written[i] == '%' && !is_escaped && !made.input) {
      made.input.emplace();
      continue;
    }
    std::string& part = made.input ? *made.input : made.text;
    part += written[i] == '%' && !is_escaped ? '\n' : written[i];
  }
  return made;
}

/// The command for a shell. cron ends the last line of the input.
std::string script_of(const CrontabCommand& command) {
  const std::string input = command.input.value_or("");
  if (input.empty()) return command.text;
  std::string end = "END";
  while (input.find(end) != std::string::npos) end += '_';
  return "{ " + command.text + "\n} <<'" + end + "'\n" + input + (input.ends_with('\n') ? "" : "\n") + end;
}

bool may_be_in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-'; }

/// FNV-1a, of which the names need no more than that they differ.
std::uint32_t digest(std::string_view text) {
  std::uint32_t sum = 2'166'136'261U;
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 16'777'619U;
  return sum;
}

/// "backup-1f7a90c3" for "/usr/bin/backup --all". A changed 'line' gives another name.
std::string name_of(std::string_view command, std::string_view line) {
  constexpr std::size_t kProgram = 40;
  std::string_view program = command.substr(0, command.find_first_of(kBlanks));
  if (const std::size_t slash = program.rfind('/'); slash != std::string_view::npos) program.remove_prefix(slash + 1);
  std::string name;
  std::ranges::copy_if(program.substr(0, kProgram), std::back_inserter(name), may_be_in_name);
  std::array<char, 10> hex{};
  std::snprintf(hex.data(), hex.size(), "-%08x", digest(line));
  return (name.empty() ? "line" : name) + hex.data();
}

/// Fields of an expression are the same whatever is between them.
std::string one_blank_between(std::string_view text) {
  std::string made;
  for (const char c : text) {
    const bool is_blank = kBlanks.find(c) != std::string_view::npos;
    if (!is_blank || (!made.empty() && made.back() != ' ')) made += is_blank ? ' ' : c;
  }
  return made;
}

std::string_view text_of_comment(std::string_view line) { return trimmed(line.substr(std::min(line.find_first_not_of('#'), line.size()))); }

/// "m h dom mon dow command", which many a crontab has above its first line.
bool is_heading(std::string_view comment) { return one_blank_between(comment).starts_with("m h dom mon dow"); }

/// Recognises the heading that Debian and Fedora write in /etc/crontab.
bool is_heading_with_users(std::string_view comment) {
  const std::string text = one_blank_between(comment);
  return text.starts_with("m h dom mon dow user") || text.starts_with("* * * * * user-name");
}

class Reader {
 public:
  explicit Reader(const CrontabForm& form) : form_(form), zone_(form.zone) {}

  void read(std::string_view line) {
    ++number_;
    line = trimmed(line);
    if (line.empty()) return forget_comments();
    if (line.front() == '#') return take_comment(line);
    if (const auto name = variable_of(line)) return take_variable(*name, unquoted(trimmed(line.substr(line.find('=') + 1))));
    take_entry(line);
    forget_comments();
  }
  Crontab take() && { return std::move(read_); }

 private:
  void forget_comments() {
    note_.clear();
    name_.clear();
  }

  void take_comment(std::string_view line) {
    constexpr std::string_view kName = "rondo-job:";
    const std::string_view text = text_of_comment(line);
    if (text.empty()) return;
    if (is_heading(text)) return note_.clear();
    if (text.starts_with(kName)) {
      name_ = trimmed(text.substr(kName.size()));
      return;
    }
    note_.append(note_.empty() ? "" : " ").append(text);
  }

  void take_variable(std::string_view name, std::string_view value) {
    note_.clear();  // It was about the setting.
    if (name == "CRON_TZ") {
      zone_ = value.empty() ? form_.zone : std::string{value};
    } else {
      read_.left_out.push_back("line " + std::to_string(number_) + ": " + std::string{name});
    }
  }

  void refuse(const std::string& why) { read_.refused.push_back("line " + std::to_string(number_) + ": " + why); }

  void take_entry(std::string_view line) {
    if (!is_utf8(line)) return refuse("it is not UTF-8");
    if (line.size() > kLineBytes)
      return refuse("it has " + std::to_string(line.size()) + " bytes: a job's parameters have at most " + std::to_string(kLineBytes));
    const int time_words = line.front() == '@' ? 1 : 5;
    const std::size_t end = end_of_words(line, time_words);
    const std::size_t begin = form_.has_users ? end_of_words(line, time_words + 1) : end;  // Where the command begins.
    if (line.starts_with("@reboot")) return refuse("@reboot is no instant: let the service manager start the command");
    if (begin == std::string_view::npos) {
      return refuse(std::string{"five fields or a word such as @daily, "} + (form_.has_users ? "a user " : "") +
                    "and a command are expected");
    }
    const std::string expression = one_blank_between(trimmed(line.substr(0, end)));
    const auto cron = calendar::Cron::parse(expression, calendar::CronDialect::Unix);
    if (!cron) return refuse("'" + expression + "', " + cron.error().to_string());
    const std::string_view user = trimmed(line.substr(end, begin - end));
    if (!std::ranges::all_of(user, may_be_in_name)) return refuse("'" + std::string{user} + "' is no name of a user");
    const CrontabCommand command = command_of(line.substr(begin));
    const std::string script = script_of(command);
    const std::string name = name_of(command.text, (user.empty() ? "" : std::string{user} + "\n") + expression + "\n" + script);
    json::object definition{{"name", form_.prefix + "/" + (name_.empty() ? unused_name(name) : name_)},
                            {"handler", form_.handler + (user.empty() ? "" : "-" + std::string{user})},
                            {"parameters", script},
                            {"schedule", "cron " + expression},
                            {"dialect", "unix"},
                            {"zone", zone_}};
    if (!note_.empty()) definition["note"] = note_;
    read_.definitions.push_back(std::move(definition));
    read_.lines.push_back("line " + std::to_string(number_));
  }

  /// The same line once more has another job.
  std::string unused_name(const std::string& name) {
    const int uses = ++uses_[name];
    return uses == 1 ? name : name + "-" + std::to_string(uses);
  }

  const CrontabForm& form_;
  Crontab read_;
  int number_ = 0;
  std::string note_;
  std::string name_;  // By a comment.
  std::string zone_;
  std::map<std::string, int> uses_;  // By name.
};

/// Removes the first line from 'text'.
std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

}  // namespace

bool has_column_of_users(const std::string& path, std::string_view text) {
  const std::filesystem::path place = std::filesystem::path{path}.lexically_normal();
  if (place == "/etc/crontab" || place.parent_path() == "/etc/cron.d") return true;
  while (!text.empty()) {
    const std::string_view line = trimmed(take_line(text));
    if (line.starts_with('#') && is_heading_with_users(text_of_comment(line))) return true;
  }
  return false;
}

Crontab read_crontab(std::string_view text, const CrontabForm& form) {
  Reader reader(form);
  while (!text.empty()) reader.read(take_line(text));
  return std::move(reader).take();
}

}  // namespace rondo::cli
