// A program described as data: its commands, their words and options, exit codes, files and examples. One description is the source of the
// parser's checks, of --help, of completion in shells (apps/rondo/arguments/completion.h) and of the manual page (manual/man_page.h), so
// that they cannot differ. Static data; no thread may change it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace rondo::manual {

/// The kind of a word, so that a shell can offer values and the parser can check them.
enum class Word : std::uint8_t { Text, Table, Key, Field, File, Command, Parameter, Choice, Number, Seconds };

/// A positional word of a command.
struct Argument {
  std::string_view name;  // The help shows it: TABLE.
  std::string_view help;
  Word word = Word::Text;
  bool required = true;
  bool many = false;  // The last argument may be repeated.
  std::vector<std::string_view> choices = {};
};

struct Option {
  std::string_view name;   // --count
  std::string_view value;  // The help shows it: N. Empty: a flag.
  std::string_view help;
  Word word = Word::Text;
  double low = 0;  // The range of numbers and seconds.
  double high = 1e15;
  std::string_view fallback = {};  // The value that applies without the option, as text for users; empty: not shown.
  std::vector<std::string_view> choices = {};
  bool list = false;            // Several values, separated by commas.
  bool value_optional = false;  // --wait or --wait=SECONDS: 'fallback' is the value if none is given.
};

struct Example {
  std::string_view line;
  std::string_view meaning;
};

/// The programs that can answer a command.
enum Answerer : std::uint8_t { Nobody = 0, Daemon = 1, Redis = 2, File = 4 };

struct Command {
  std::string_view name;
  std::string_view help;          // One line.
  std::string_view details = {};  // For the manual and the command's own help; empty lines separate paragraphs.
  std::vector<Argument> arguments = {};
  std::vector<Option> options = {};
  unsigned answered_by = Nobody;  // A mask of Answerers; 0: the program answers without any of them.
  std::vector<Example> examples = {};
  std::vector<Command> commands = {};           // If not empty, one of these must follow.
  bool hidden = false;                          // For scripts: not listed in the help.
  std::vector<std::string_view> meant_by = {};  // Names that it has in other programs: an error suggests it.
};

/// A name and its meaning: an exit code, an environment variable, a file.
struct Entry {
  std::string_view name;
  std::string_view meaning;
};

/// A setting of a configuration file.
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
  std::string_view summary;      // The text after the dash of the section NAME.
  std::string_view description;  // Paragraphs, separated by empty lines.
  std::vector<Option> options = {};
  std::vector<Command> commands = {};
  std::vector<Section> sections = {};  // The sections of a configuration file.
  std::vector<Entry> exit_codes = {};
  std::vector<Entry> environment = {};
  std::vector<Entry> files = {};
  std::vector<Example> examples = {};
  std::vector<std::string_view> see_also = {};  // rondod(8)
};

}  // namespace rondo::manual
