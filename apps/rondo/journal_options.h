// What the command line says about journals: `rondo journal ...` and `rondo replay`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace rondo::cli {

struct Options;

struct ReadJournal {
  enum class Verb : unsigned char { Tail, Grep, Explain, Export, Check };
  Verb verb = Verb::Tail;
  std::vector<std::string> files;  // Oldest first.
  std::string word;                // As typed: what grep looks for; the key that explain tells of.
  std::string table;               // As typed; empty: every table.
  std::uint64_t lines = 20;
  bool retry = false;  // Export retry.rec and not swss.rec.
};

struct ReplayRun {
  std::vector<std::string> files;  // Oldest first.
  unsigned run = 0;                // From 1; 0: the last.
};

/// Adds both commands to 'app'; what is said goes into 'options', which must outlive it.
void add_journal_commands(CLI::App& app, Options& options);

}  // namespace rondo::cli
