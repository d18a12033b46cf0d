// The parsed command line as plain values. Only options.cc uses CLI11.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "feed/next_hops.h"
#include "rondo/base/time.h"

namespace rondo::cli {

/// A command that the backend answers: its name and its text arguments.
struct Call {
  std::string command;
  std::vector<std::pair<std::string, std::string>> arguments;  // Name and text, as typed.
  std::vector<std::pair<std::string, std::uint64_t>> numbers;
  bool wide = false;        // All columns.
  bool all = false;         // All rows, even on a terminal.
  std::uint64_t count = 0;  // The most rows to show; 0: no limit.
};

struct SetRow {
  std::string table;
  std::string key;
  std::vector<std::pair<std::string, std::string>> fields;  // Text of the user.
  bool is_delete = false;
  bool replace = false;                 // Removes fields that are not named.
  std::vector<std::string> unset = {};  // Fields to remove, as typed.
  std::optional<Duration> wait = {};    // How long to wait for the end of the row.
};

/// An event for a Channel, as typed.
struct SendEvent {
  std::string op;
  SetRow event;  // Its key is the event's data.
};

/// A command by its name, with arguments as typed.
struct OwnCall {
  std::string command;
  std::vector<std::pair<std::string, std::string>> arguments;
};

struct LoadFile {
  std::string file;  // "-" is standard input.
  bool dry_run = false;
  bool diff = false;                  // Print the difference that the file makes.
  bool changes = false;               // Write only rows that differ; also true for 'replace' and 'atomic'.
  bool replace = false;               // A SET names all fields of its row.
  bool atomic = false;                // Write nothing if a row would be refused.
  std::optional<Duration> wait = {};  // Wait at most this long, and report the states of the rows.
  bool is_planned() const noexcept { return diff || changes || replace || atomic; }
};

enum class Order : unsigned char { AsIs, Sorted, Shuffled };

struct FeedRoutes {
  std::vector<std::string> files;
  std::uint64_t synthetic = 0;
  std::uint64_t synthetic6 = 0;
  std::uint64_t seed = 1;
  unsigned groups = feed::kDefaultGroups;
  Order order = Order::AsIs;
  std::vector<std::string> also;  // nexthops, neighbors, interfaces, ports, all.
  feed::PortNames ports;
  unsigned mtu = 9100;
  bool withdraw = false;
  bool dry_run = false;
};

struct Version {};

enum class SourceOrder : unsigned char { Name, Turns, Share, Longest, Depth, Waiting, Busy };

struct Top {
  Duration every = 1s;
  std::uint64_t frames = 0;  // 0: until the user leaves.
  SourceOrder order = SourceOrder::Share;
};

/// The newest turns, once the daemon has recorded for 'recorded'.
struct Turns {
  std::uint64_t count = 1000;
  Duration recorded = 1s;
};

struct Dump {
  std::string file;  // "-" is standard output; empty: a name with the current time.
};

/// Prints the completion script of a shell.
struct Completion {
  std::string shell;
};

/// Prints the completions of the last of these words of a command line.
struct Complete {
  std::vector<std::string> words;
};

/// Prints the reference of tables and fields.
struct ShowSchema {
  std::string table;  // Empty: all.
  bool markdown = false;
};

/// Prints rondo(1).
struct Manual {};

/// Tables on a Redis, or in the file of a durable store, without a daemon.
struct StoreChoice {
  std::string where;            // An address, or the name of a database of SONiC's; empty: use the daemon.
  std::string database_config;  // SONiC's database_config.json; empty: SONiC's defaults.
  std::string name_space;       // The namespace in the global variant of that file.
  std::string container;        // The container in the global variant.
  std::optional<char> separator;
  std::string kind;  // "staged", "watched", "channel" or "queue"; empty: the kind that suits the command.
  bool given() const noexcept { return !where.empty(); }
};

/// The API of a daemon (docs/guide/http-api.md), as a user names it.
struct RemoteChoice {
  std::string url = {};  // Empty: none.
  std::string token_file = {};
  std::string ca_file = {};
  bool given() const noexcept { return !url.empty(); }
};

struct ReadJournal {
  enum class Verb : unsigned char { Tail, Grep, Explain, Export, Audit, Check };
  Verb verb = Verb::Tail;
  std::vector<std::string> files;  // Oldest first.
  std::string word;                // Text of the user: the text that grep searches; the key that explain describes.
  std::string table;               // Text of the user; empty: every table.
  std::uint64_t lines = 20;
  bool follow = false;
  bool retry = false;  // Export the form of retry.rec instead of swss.rec.
};

/// An expression of the calendar, and the options as typed.
struct CronCall {
  enum class Verb : unsigned char { Next, Explain };
  Verb verb = Verb::Next;
  std::string expression;
  std::string dialect;  // Empty: detected.
  std::string zone;
  std::string from;  // Empty: now.
  std::string dst;
  std::string excluded;
  std::uint64_t count = 0;
};

/// A worker program.
struct WorkerCall {
  std::string config;
  bool checks_only = false;
};

/// A command of `rondo job`: the words of its arguments and options by their described names.
struct JobCall {
  std::string verb;  // "add"
  std::vector<std::pair<std::string, std::string>> arguments = {};
  std::vector<std::pair<std::string, std::string>> options = {};  // A given flag has an empty text.

  /// The text of an argument; empty if it is absent.
  std::string word(std::string_view argument) const;
  /// The last text of an option; null if it is absent.
  const std::string* find(std::string_view option) const;
};

struct ReplayRun {
  std::vector<std::string> files;  // Oldest first.
  unsigned run = 0;                // From 1; 0: the last run.
};

struct Options {
  std::string socket;  // Empty: the default (backends/socket_path.h).
  RemoteChoice remote;
  StoreChoice store;
  bool json = false;
  Duration patience = 30s;
  std::optional<Duration> timeout;  // The value that the user gave.
  std::variant<Version, Call, SetRow, SendEvent, OwnCall, LoadFile, FeedRoutes, ReadJournal, ReplayRun, CronCall, WorkerCall, JobCall, Top,
               Turns, Dump, Completion, Complete, ShowSchema, Manual>
      action;
};

/// Either options to execute, or a text to print and an exit code (help, version, a usage error).
struct Parsed {
  Options options;
  bool finished = false;
  int exit_code = 0;
  std::string text;  // Goes to standard output if exit_code is 0, otherwise to standard error.
};

Parsed parse_command_line(int argc, const char* const* argv);

}  // namespace rondo::cli
