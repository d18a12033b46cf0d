#include "commands/long_waits.h"

#include <algorithm>
#include <boost/json.hpp>
#include <functional>
#include <string>
#include <vector>

#include "commands/answers.h"
#include "commands/incidents.h"
#include "orch/parked.h"
#include "rondo/orch/runtime.h"

namespace rondo::commands {

namespace {

/// A wait that resolves by itself, such as one for a neighbour, is resolved within this time.
constexpr Duration kLongWait = 1min;
/// An Orch that holds its table because its device is full releases it within this time.
constexpr Duration kHoldStands = 1s;
/// A device that answers nothing for this long does not work.
constexpr Duration kAnswers = 60s;
/// Bounds the turn of health, however many facts are awaited.
constexpr std::uint32_t kPlacesLooked = 16 * kPlacesOfParked;
/// A screen has room for more lines than this.
constexpr std::size_t kWaitsNamed = 10;

}  // namespace

void report_long_waits(const Runtime& runtime, boost::json::array& notes) {
  std::vector<ParkedFact> waits;
  std::uint32_t place = 0;
  std::size_t seen = 0;
  while (place < kPlacesLooked) {  // kNoPlace is beyond it.
    for (ParkedFact& one : parked_facts(runtime, kPlacesOfParked, place)) {
      ++seen;
      if (one.oldest >= kLongWait) waits.push_back(std::move(one));
    }
  }
  std::ranges::sort(waits, std::ranges::greater{}, &ParkedFact::rows);
  for (std::size_t i = 0; i < std::min(waits.size(), kWaitsNamed); ++i) {
    const ParkedFact& one = waits[i];
    std::string note = "rows of " + one.table + " that wait: " + std::to_string(one.rows) + ", for " + std::string{one.fact.kind.name()} +
                       " " + one.fact.key + ", the first for " + span_text(one.oldest);
    note += one.has_provider ? "; provided by " + one.provider : "; no Orch provides it";
    notes.push_back(sentence(note));
  }
  const bool is_cut = place != kNoPlace && seen < runtime.awaited_facts();
  if (waits.size() <= kWaitsNamed && !is_cut) return;
  const std::size_t others = waits.size() - std::min(waits.size(), kWaitsNamed);
  notes.push_back(others == 0 ? sentence("rows wait for more facts than health reads: rondo parked lists them")
                              : sentence("rows wait longer than a minute for " + std::to_string(others) + (is_cut ? " or more" : "") +
                                         " other facts: rondo parked lists them"));
}

std::string hold_text(const ConsumerStats& table) {
  if (table.held_for < kHoldStands) return {};
  if (!table.awaits.empty()) {
    return table.table + " takes no changes yet: the standing rows of " + table.awaits + " come first, since " + span_text(table.held_for) +
           "; rows that wait: " + std::to_string(table.queued);
  }
  return table.table + " takes no more changes: Orch " + table.orch + " has held it for " + span_text(table.held_for) +
         " (hold() without release()); rows that wait: " + std::to_string(table.queued);
}

std::string unanswered_text(const ConsumerStats& table) {
  if (table.unanswered_for < kAnswers) return {};
  return table.table + ": none of the changes that Orch " + table.orch + " has under way was answered for " +
         span_text(table.unanswered_for) + "; under way: " + std::to_string(table.in_flight);
}

std::string standstill_text(const ConsumerStats& table) {
  if (table.full_at == 0) return {};
  return table.table + " takes no more changes: " + std::to_string(table.full_at) + " of its rows are unsettled, the limit (rows_max); " +
         std::to_string(table.parked) + " of them wait: rondo parked " + table.table;
}

}  // namespace rondo::commands
