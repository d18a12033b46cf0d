// PlaneState: the state of a row in the data plane of its Orch, such as a kernel or a device. A ledger knows the unsettled changes of a
// row; only the Orch knows the state of rows that are done. See Runtime::explain_state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/orch/fact.h"

namespace rondo {

enum class PlaneState : std::uint8_t {
  Unknown,    // The Orch does not report it, or there is no such row.
  Installed,  // Present, with the content of the row.
  Pending,    // An operation for it is in flight.
  Waiting,    // Waits for a fact, or for a later attempt.
  Withdrawn,  // Removed, or not installed, because facts ended; it is installed when they hold again.
  Refused,    // The data plane refused it. A row whose refusal may be transient is retried.
  Lost,       // An audit found that it is missing.
  Foreign,    // Another program owns it; the Orch leaves it alone.
};

/// "installed" and so on; empty for Unknown. Static storage.
std::string_view to_string(PlaneState state) noexcept;

/// The state of one row, as its Orch reports it.
struct RowInPlane {
  PlaneState state = PlaneState::Unknown;
  std::string note = {};  // For people.
  // The row is withdrawn because these do not hold; `why` continues with the rows that would make them true.
  std::vector<Fact> facts = {};
};

/// How many rows of a table are in each state, counted by the Orch. The consumer counts rows that wait or are refused.
struct PlaneCounts {
  std::size_t installed = 0;
  std::size_t pending = 0;  // Without rows that have a change in flight.
  std::size_t withdrawn = 0;
  std::size_t lost = 0;
  std::size_t refused = 0;  // Refused again and again; retried.
};

}  // namespace rondo
