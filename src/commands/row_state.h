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
    case WhyLink::State::Absent: break;  // No change is owed for a row that the store has.
  }
  return "done";
}

inline std::string state_note(const WhyLink& link) {
  if (link.state == WhyLink::State::Absent && link.plane == PlaneState::Unknown) return {};
  std::string note = link.note;
  for (std::size_t i = 0; i < std::min(link.missing, link.facts.size()); ++i) {
    note.append(note.empty() ? "" : "; ").append("waits for ").append(link.facts[i].to_string());
  }
  return note;
}

}  // namespace rondo::commands
