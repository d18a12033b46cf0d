// The messages that all programs here share: for usage errors, such as "rondod: unknown option '--confg'; did you mean '--config'?", and
// for an answer that cannot be written to standard output.
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

/// Returns "unknown option '--jsn'" with the nearest of 'options'. Ignores the part of 'word' from a '='.
std::string unknown_option(std::string_view word, std::span<const std::string_view> options);

/// Prints a text that is a program's whole answer. Returns 0, or 1 after an error message if standard output cannot be written.
int print_text(std::string_view program, const std::string& text);

/// For a program without commands: parses its command line. Returns an exit code if the program must end: after it printed help or a
/// version on standard output, or an error on standard error.
std::optional<int> parse_words(CLI::App& app, int argc, const char* const* argv);

}  // namespace rondo::manual
