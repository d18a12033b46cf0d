// What the command line says, as plain values. options.cc is the only place that knows the parser.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "feed/next_hops.h"
#include "rondo/base/time.h"
#include "rondo/store/store.h"

namespace rondo::cli {

/// A command that the backend answers: its name and its text arguments.
struct Call {
  std::string command;
  std::vector<std::pair<std::string, std::string>> arguments;  // Name and text, as typed.
  std::vector<std::pair<std::string, std::uint64_t>> numbers;
  bool wide = false;        // All columns.
  bool all = false;         // All rows, also on a terminal.
  std::uint64_t count = 0;  // At most so many rows are shown; 0: no such bound.
};

struct SetRow {
  std::string table;
  std::string key;
  std::vector<std::pair<std::string, std::string>> fields;  // As typed.
  bool is_delete = false;
  bool replace = false;                 // Fields that are not named go.
  std::vector<std::string> unset = {};  // Fields that go, as typed.
  std::optional<Duration> wait = {};    // For what becomes of the row.
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
  bool diff = false;                  // Print the difference that it makes.
  bool changes = false;               // Write only what differs; 'replace' and 'atomic' do, too.
  bool replace = false;               // A SET names all fields of its row.
  bool atomic = false;                // Nothing if a row would be refused.
  std::optional<Duration> wait = {};  // Report what became of the rows, after at most so long.
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
  std::uint64_t frames = 0;  // 0: until it is left.
  SourceOrder order = SourceOrder::Share;
};

struct Dump {
  std::string file;  // "-" is standard output; empty: a name with the time.
};

/// Prints the completion of a shell.
struct Completion {
  std::string shell;
};

/// What may stand in place of the last of these words of a command line.
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
  std::string where;            // An address, or the name of a database of SONiC's; empty: the daemon is asked.
  std::string database_config;  // SONiC's database_config.json; empty: SONiC's defaults.
  std::string name_space;       // Of its global variant.
  std::string container;        // Likewise.
  std::optional<char> separator;
  std::optional<TableKind> kind;  // Nothing: what suits the command.
  bool given() const noexcept { return !where.empty(); }
  bool is_file() const noexcept { return where.starts_with("file:"); }
};

struct ReadJournal {
  enum class Verb : unsigned char { Tail, Grep, Explain, Export, Audit, Check };
  Verb verb = Verb::Tail;
  std::vector<std::string> files;  // Oldest first.
  std::string word;                // As typed: what grep looks for; the key that explain tells of.
  std::string table;               // As typed; empty: every table.
  std::uint64_t lines = 20;
  bool follow = false;
  bool retry = false;  // Export retry.rec and not swss.rec.
};

struct ReplayRun {
  std::vector<std::string> files;  // Oldest first.
  unsigned run = 0;                // From 1; 0: the last.
};

struct Options {
  std::string socket;  // Empty: the default (socket_path.h).
  StoreChoice store;
  bool json = false;
  Duration patience = 30s;
  std::optional<Duration> timeout;  // As given.
  std::variant<Version, Call, SetRow, SendEvent, OwnCall, LoadFile, FeedRoutes, ReadJournal, ReplayRun, Top, Dump, Completion, Complete,
               ShowSchema, Manual>
      action;
};

/// Either options to act on, or what to print and the code to end with (help, version, a usage error).
struct Parsed {
  Options options;
  bool finished = false;
  int exit_code = 0;
  std::string text;  // For standard output when exit_code is 0, else for standard error.
};

Parsed parse_command_line(int argc, const char* const* argv);

}  // namespace rondo::cli
