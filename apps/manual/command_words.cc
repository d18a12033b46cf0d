#include "manual/command_words.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <vector>

#include "rondo/admin/suggest.h"

namespace rondo::manual {
namespace {

/// What is wrong, in words; of an option that is not known, its name and the nearest one.
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
  // "-j" is more like "--json" than like any other.
  const std::string full = name.starts_with("--") ? name : "-" + name;
  return "unknown option '" + name + "'" + did_you_mean(full, options);
}

std::optional<int> parse_words(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    app.exit(asked);
    return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 ? 0 : 1;
  } catch (const CLI::ParseError& error) {
    const std::string name = app.get_name();
    std::fprintf(stderr, "%s: %s\nRun '%s --help' for usage.\n", name.c_str(), words_of(app, error).c_str(), name.c_str());
    return kWrongUsage;
  }
  return std::nullopt;
}

}  // namespace rondo::manual
