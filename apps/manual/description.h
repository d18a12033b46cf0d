// A program described as data: its commands, their words and options, exit codes, files and examples. One description is the source of the
// parser's checks, of --help, of completion in shells (apps/rondo/completion.h) and of the manual page (manual/man_page.h), so that they
// cannot differ. Static data; no thread may change it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace rondo::manual {

/// What stands in a place, so that a shell can offer it and the parser can check it.
enum class Word : std::uint8_t { Text, Table, Key, Field, File, Command, Parameter, Choice, Number, Seconds };

/// A word of a command that has its place by order.
struct Argument {
  std::string_view name;  // As it is shown: TABLE.
  std::string_view help;
  Word word = Word::Text;
  bool required = true;
  bool many = false;  // The last one may come again.
  std::vector<std::string_view> choices = {};
};

struct Option {
  std::string_view name;   // --count
  std::string_view value;  // As it is shown: N. Empty: a flag.
  std::string_view help;
  Word word = Word::Text;
  double low = 0;  // Of numbers and seconds.
  double high = 1e15;
  std::string_view fallback = {};  // What holds without it, for people; empty: nothing to say.
  std::vector<std::string_view> choices = {};
  bool list = false;            // Several, divided by commas.
  bool value_optional = false;  // --wait or --wait=SECONDS: 'fallback' stands for a value that is not given.
};

struct Example {
  std::string_view line;
  std::string_view meaning;
};

/// Who can answer a command.
enum Answerer : std::uint8_t { Nobody = 0, Daemon = 1, Redis = 2, File = 4 };

struct Command {
  std::string_view name;
  std::string_view help;          // One line.
  std::string_view details = {};  // For the manual and the command's own help; paragraphs are divided by empty lines.
  std::vector<Argument> arguments = {};
  std::vector<Option> options = {};
  unsigned answered_by = Nobody;  // Answerers; nobody: the program by itself.
  std::vector<Example> examples = {};
  std::vector<Command> commands = {};  // One of these must follow.
  bool hidden = false;                 // For programs, not for people.
};

/// A name and what it means: an exit code, a variable of the environment, a file.
struct Entry {
  std::string_view name;
  std::string_view meaning;
};

/// A part of a configuration file.
struct Setting {
  std::string_view name;
  std::string_view type;  // "integer from 1 to 128", "text", ...
  std::string_view fallback;
  std::string_view help;
};
struct Section {
  std::string_view name;  // store.group
  std::string_view help;
  std::vector<Setting> settings;
  bool many = false;  // [[store.group]]
};

struct Program {
  std::string_view name;
  int manual_section = 1;
  std::string_view summary;      // After the dash of NAME.
  std::string_view description;  // Paragraphs, divided by empty lines.
  std::vector<Option> options = {};
  std::vector<Command> commands = {};
  std::vector<Section> sections = {};  // Of a configuration file.
  std::vector<Entry> exit_codes = {};
  std::vector<Entry> environment = {};
  std::vector<Entry> files = {};
  std::vector<Example> examples = {};
  std::vector<std::string_view> see_also = {};  // rondod(8)
};

}  // namespace rondo::manual
