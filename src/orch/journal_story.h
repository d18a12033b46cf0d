// The story of one key: what became of its changes, what they waited for and who resolved that, with the times between.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orch/journal_reader.h"

namespace rondo::journal {

/// One thing that happened to a row of the key, or to a fact that the row waits for.
struct StoryEvent {
  Instant time;
  WallTime wall;
  std::string table;
  std::string what;    // taken, parked, delayed, resolved, retried, unparked, still parked, ordered, done, rejected, again, missing.
  std::string detail;  // Fields, facts, reasons; for people.
  std::string turn;    // The source in whose turn it happened; empty between turns.
};

/// Reads 'reader' to its end. 'table' empty: of every table.
std::vector<StoryEvent> story_of(JournalReader& reader, std::string_view table, std::string_view key);

}  // namespace rondo::journal
