// The state of a row in the commands' answers: its word, and the facts it waits for or the reason of its rejection.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "rondo/orch/runtime.h"

namespace rondo::commands {

inline std::string_view state_word(const WhyLink& link) {
  switch (link.state) {
    case WhyLink::State::Rejected: return "rejected";
    case WhyLink::State::Parked: return "parked";
    case WhyLink::State::Queued: return "queued";
    case WhyLink::State::InFlight: return "in-flight";
    case WhyLink::State::Unknown: return "unknown";
    case WhyLink::State::Absent: break;  // No change is pending for a row that the store has.
  }
  return link.plane_error.empty() ? "done" : "unknown";
}

inline std::string state_note(const WhyLink& link) {
  if (link.state == WhyLink::State::Absent && link.plane == PlaneState::Unknown) return link.plane_error;
  std::string note = link.note;
  for (std::size_t i = 0; i < std::min(link.missing, link.facts.size()); ++i) {
    note.append(note.empty() ? "" : "; ").append("waits for ").append(link.facts[i].to_string());
  }
  return note;
}

/// The note on a row of a process that stands by for 'holder'.
inline std::string standby_note(const std::string& holder) {
  return "this process stands by for " + holder + " and consumes no rows: call that one";
}

/// The same for a row of 'runtime'. If the row waits, directly or not, for a row that the data plane refuses, the note names that row and
/// the reason. O(limits::kWhyDepth) for a row that waits for facts.
inline std::string full_note(const Runtime& runtime, const WhyLink& link) {
  std::string note = state_note(link);
  if (link.state != WhyLink::State::Parked || link.missing == 0 || link.plane == PlaneState::Refused) return note;
  for (const WhyLink& cause : runtime.why(link.table, link.key).chain) {
    if (cause.plane != PlaneState::Refused) continue;
    return note + "; the data plane refuses " + cause.table + " " + cause.key + ": " + cause.note;
  }
  return note;
}

}  // namespace rondo::commands
