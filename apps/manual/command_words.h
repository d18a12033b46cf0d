// Wrong words on a command line, as all programs here tell of them: "rondod: unknown option '--confg'; did you mean '--config'?"
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace rondo::manual {

inline constexpr int kWrongUsage = 2;  // Exit code.

/// "unknown option '--jsn'", and the nearest of 'options'. What follows a '=' in 'word' is left away.
std::string unknown_option(std::string_view word, std::span<const std::string_view> options);

/// For a program without commands: parses its words. An exit code when the program ends here: after help or a version on standard output,
/// or after what is wrong on standard error.
std::optional<int> parse_words(CLI::App& app, int argc, const char* const* argv);

}  // namespace rondo::manual
