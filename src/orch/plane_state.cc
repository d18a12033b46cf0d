#include "rondo/orch/plane_state.h"

namespace rondo {

std::string_view to_string(PlaneState state) noexcept {
  switch (state) {
    case PlaneState::Unknown: return "";
    case PlaneState::Installed: return "installed";
    case PlaneState::Pending: return "pending";
    case PlaneState::Waiting: return "waiting";
    case PlaneState::Withdrawn: return "withdrawn";
    case PlaneState::Refused: return "refused";
    case PlaneState::Lost: return "lost";
    case PlaneState::Foreign: return "foreign";
  }
  return "";
}

}  // namespace rondo
