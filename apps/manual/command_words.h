// What all programs here say alike: of wrong words on their command line, "rondod: unknown option '--confg'; did you mean '--config'?", and
// of an answer that standard output does not take.
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

/// Prints a text that is all of a program's answer: 0, or 1 when standard output does not take it, which is said.
int print_text(std::string_view program, const std::string& text);

/// For a program without commands: parses its words. An exit code when the program ends here: after help or a version on standard output,
/// or after what is wrong on standard error.
std::optional<int> parse_words(CLI::App& app, int argc, const char* const* argv);

}  // namespace rondo::manual
