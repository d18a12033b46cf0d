// Completion in shells: a script for bash or zsh that calls rondo for the completions of the last word. The offers are those of
// commands.cc; tables and keys are those of the daemon, if it answers in time.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::cli {

/// The script for "bash" or "zsh".
std::string completion_script(std::string_view shell);

/// One offered word and its meaning (may be empty).
struct Offer {
  std::string word;
  std::string help;
};

/// The sources of names that no description contains. Each returns as many as a shell should show, and none if no daemon answers.
struct NameSource {
  std::function<std::vector<std::string>()> tables;
  std::function<std::vector<std::string>(const std::string& table, const std::string& beginning)> keys;
  /// The daemon's own commands, and the arguments of one of them as "name=".
  std::function<std::vector<Offer>()> commands = {};
  std::function<std::vector<Offer>(const std::string& command)> parameters = {};
};

/// Returns the completions of the last of 'words' (those after "rondo"). The word ":files" means names of files.
std::vector<Offer> offers(const std::vector<std::string>& words, const NameSource& names);

}  // namespace rondo::cli
