// Completion in shells: a script for bash or zsh that asks rondo itself what may stand in place of the last word. So what is offered is
// what commands.cc describes, and tables and keys are those of the daemon, if it answers at once.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::cli {

/// The script for "bash" or "zsh".
std::string completion_script(std::string_view shell);

/// What a line of a completion offers, and its meaning (may be empty).
struct Offer {
  std::string word;
  std::string help;
};

/// Where names come from that no description knows. Each gives as many as a shell should show, and nothing when nobody answers.
struct NameSource {
  std::function<std::vector<std::string>()> tables;
  std::function<std::vector<std::string>(const std::string& table, const std::string& beginning)> keys;
  /// The daemon's own commands, and the arguments of one of them as "name=".
  std::function<std::vector<Offer>()> commands = {};
  std::function<std::vector<Offer>(const std::string& command)> parameters = {};
};

/// What may stand in place of the last of 'words' (those behind "rondo"). The word ":files" stands for names of files.
std::vector<Offer> offers(const std::vector<std::string>& words, const NameSource& names);

}  // namespace rondo::cli
