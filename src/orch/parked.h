// The rows and facts that wait in a runtime, and the rejected rows, for the admin commands and for checkers. Like the introspection of
// Runtime: a home runtime includes its workers, and omits a worker that is busy for longer than limits::kWorkerAskWait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/orch/runtime.h"

namespace rondo {

/// One row that waits, for display.
struct ParkedRow {
  std::string table;
  std::string key;
  ChangeOp op = ChangeOp::Set;
  std::vector<Fact> facts;  // All facts it waits for; it is indexed under the first.
  Duration waited{0};
  Duration retry_in{0};  // For rows parked on time.
  std::string why;       // For rows parked on time: the reason that the handler gave.
};

/// A row whose newest change was rejected.
struct RejectedRow {
  std::string key;
  std::string why;  // Or a note that the reason is no longer kept: limits::kRejectionsKept.
};

/// A fact and how many rows are parked on it. Each row is parked on one fact at a time: the first one that does not hold.
struct ParkedFact {
  Fact fact;
  std::string table;  // The table of the rows.
  std::size_t rows = 0;
  bool has_provider = false;
  std::string provider;  // Its name; empty if no Orch provides facts of that kind.
  Duration oldest{0};    // How long the oldest of the rows has waited.
};

std::vector<ParkedFact> parked_facts(const Runtime& runtime, std::size_t max);
std::vector<ParkedRow> parked_rows(const Runtime& runtime, std::string_view table, std::size_t max);

/// The same in pages, for any number of entries. 'place' is 0 for the first page and kNoPlace after the last. Each call examines
/// kPlacesOfParked places, so a page may hold fewer than 'max' entries, or none. An entry that stays parked meanwhile is returned exactly
/// once.
inline constexpr std::uint32_t kNoPlace = UINT32_MAX;
inline constexpr std::uint32_t kPlacesOfParked = 256;
std::vector<ParkedFact> parked_facts(const Runtime& runtime, std::size_t max, std::uint32_t& place);
std::vector<ParkedRow> parked_rows(const Runtime& runtime, std::string_view table, std::size_t max, std::uint32_t& place);

/// Rejected rows of 'table' in the order of their keys, at most 'max', beginning behind the key 'after'.
std::vector<RejectedRow> rejected_rows(const Runtime& runtime, std::string_view table, std::size_t max,
                                       const std::optional<std::string>& after = {});

}  // namespace rondo
