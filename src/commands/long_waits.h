// Rows that have waited for a fact for longer than a minute: notes of `rondo health`. Scheduler thread.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

namespace rondo {
class Runtime;
struct ConsumerStats;
}  // namespace rondo

namespace rondo::commands {

/// Adds a note for each of the facts with the most such rows: their number, the fact, its provider. Checks a bounded number of facts.
void report_long_waits(const Runtime& runtime, boost::json::array& notes);

/// Reports that a consumer takes no more changes until rows are settled (ConsumerStats::full_at). Empty if it takes changes.
std::string standstill_text(const ConsumerStats& table);
/// Reports that an Orch has held its table for longer than a moment while changes wait (ConsumerStats::held_for). Empty otherwise.
std::string hold_text(const ConsumerStats& table);
/// Reports that none of a table's staged changes was settled for a minute (ConsumerStats::unanswered_for). Empty otherwise.
std::string unanswered_text(const ConsumerStats& table);

}  // namespace rondo::commands
