// The story of one key: what became of its changes, what they waited for and who resolved that, with the times between.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orch/journal_walk.h"

namespace rondo::journal {

inline constexpr std::string_view kRunBegan = "another run began";

/// One thing that happened to a row of the key, or to a fact that the row waits for.
struct StoryEvent {
  Instant time;
  WallTime wall;
  std::uint64_t run = 0;  // JournalWalk::run(). Times of different runs may be of different boots of the machine.
  std::string table;
  std::string what;    // taken, parked, delayed, announced, resolved, retried, unparked, still parked, ordered, done, rejected, again,
                       // missing, another run began. Of several facts that a row waits for each is announced, and the last of them before
                       // the row was handled again is what resolved it.
  std::string detail;  // Fields, facts, reasons; for people.
  std::string turn;    // The source in whose turn it happened; empty between turns.
  /// Of what was taken: since when its table had had changes waiting, without a break, as far as the scheduler had heard. It was queued
  /// there no longer than that. Empty where the record does not say.
  std::optional<Duration> queued_at_most;
};

/// kRunBegan, with no table: before the first thing that happened in a run after one in which something did; its time and detail (the
/// policy) are those of the run's beginning, or of that first thing where the beginning is missing.
/// Goes on with 'walk' to its end. 'table' empty: of every table. Where records are missing, what the key waited for is forgotten.
std::vector<StoryEvent> story_of(JournalWalk& walk, std::string_view table, std::string_view key);

/// From 'before' to 'after': by the monotonic clock, between runs by the calendar.
Duration time_between(const StoryEvent& before, const StoryEvent& after) noexcept;

}  // namespace rondo::journal
