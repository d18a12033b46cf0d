// The story of one key: the outcomes of its changes, the facts they waited for and who announced those, with the times between them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "journal/walk.h"

namespace rondo::journal {

inline constexpr std::string_view kRunBegan = "another run began";

/// One event of a row of the key, or of a fact that the row waits for.
struct StoryEvent {
  Instant time;
  WallTime wall;
  std::uint64_t run = 0;  // JournalWalk::run(). Times of different runs may be from different boots of the machine.
  std::string table;
  std::string what;    // taken, parked, delayed, announced, resolved, retried, unparked, still parked, ordered, done, rejected, again,
                       // missing, another run began. If a row waits for several facts, each has an event "announced"; the last one before
                       // the row was handled again becomes "resolved".
  std::string detail;  // Fields, facts, reasons; for people.
  std::string turn;    // The source in whose turn it happened; empty between turns.
  /// For a taken change: how long its table had had changes waiting without a break, as far as the scheduler knew. The change was queued
  /// no longer than that. Empty where the records do not contain it.
  std::optional<Duration> queued_at_most;
};

/// Continues with 'walk' to its end. If 'table' is empty, the events of every table. Where records are missing, the facts that the key
/// waited for are forgotten. An event kRunBegan, without a table, precedes the first event of a run that follows another run with events.
/// Its time and detail (the policy) are those of the run's beginning, or of that first event where the beginning is missing.
std::vector<StoryEvent> story_of(JournalWalk& walk, std::string_view table, std::string_view key);

/// The time from 'before' to 'after', by the monotonic clock; between runs, by the wall clock.
Duration time_between(const StoryEvent& before, const StoryEvent& after) noexcept;

}  // namespace rondo::journal
