#include "manual/command_words.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <vector>

#include "admin/suggest.h"
#include "rondo/base/status.h"

namespace rondo::manual {
namespace {

/// The text of a usage error; for an unknown option, its name and the nearest known one.
std::string words_of(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> rest = app.remaining();
  if (rest.empty()) return error.what();
  if (!rest.front().starts_with("-")) return "unexpected word '" + rest.front() + "'";
  std::vector<std::string> names;
  for (const CLI::Option* const option : app.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> options(names.begin(), names.end());
  return unknown_option(rest.front(), options);
}

}  // namespace

std::string unknown_option(std::string_view word, std::span<const std::string_view> options) {
  const std::string name{word.substr(0, word.find('='))};
  // "-j" resembles "--json" more than any other option.
  const std::string full = name.starts_with("--") ? name : "-" + name;
  return "unknown option '" + name + "'" + did_you_mean(full, options);
}

int print_text(std::string_view program, const std::string& text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
  const Status why = status_from_errno(errno, "write to standard output");
  std::fprintf(stderr, "%s: %s\n", std::string{program}.c_str(), std::string{why.message()}.c_str());
  return 1;
}

std::optional<int> parse_words(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return print_text(app.get_name(), app.help());
  } catch (const CLI::CallForVersion& version) {
    return print_text(app.get_name(), std::string{version.what()} + "\n");
  } catch (const CLI::ParseError& error) {
    const std::string name = app.get_name();
    std::fprintf(stderr, "%s: %s\nRun '%s --help' for usage.\n", name.c_str(), words_of(app, error).c_str(), name.c_str());
    return kWrongUsage;
  }
  return std::nullopt;
}

}  // namespace rondo::manual
