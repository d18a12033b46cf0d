// PlaneState: where a row stands in what its Orch drives, such as a kernel or a device. A ledger knows what is owed for a row; only the
// Orch knows what became of the rows that it is done with. See Runtime::explain_state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/orch/constraint.h"

namespace rondo {

enum class PlaneState : std::uint8_t {
  Unknown,    // No Orch tells, or there is no such row.
  Installed,  // There, as the row asks.
  Pending,    // Under way.
  Waiting,    // For a fact, or for a later attempt.
  Withdrawn,  // Was there, or would be; it comes back when the facts that ended hold again.
  Refused,    // By the data plane.
  Lost,       // Should be there; an audit found that it is not.
  Foreign,    // Left to other software.
};

/// "installed" and so on; empty for Unknown. Static storage.
std::string_view to_string(PlaneState state) noexcept;

/// What an Orch says of one row.
struct RowInPlane {
  PlaneState state = PlaneState::Unknown;
  std::string note = {};               // For people.
  std::vector<Constraint> facts = {};  // Those without which the row is withdrawn; `why` goes on to the rows that would make them true.
};

/// How many rows of a table stand where, as its Orch counts them. Rows that wait or are refused are counted by the consumer.
struct PlaneCounts {
  std::size_t installed = 0;
  std::size_t pending = 0;  // Without those that a change is under way for.
  std::size_t withdrawn = 0;
  std::size_t lost = 0;
};

}  // namespace rondo
