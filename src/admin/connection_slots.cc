// See connection_slots.h.
#include "admin/connection_slots.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace rondo {

namespace {
/// Used when each connection has a request under way, such as `watch`. The user with the most places gives up the oldest to a user who has
/// at least two fewer.
std::optional<std::size_t> slot_of_largest_user(std::span<const ConnectionSlot> slots, const Caller& newcomer) {
  const auto places_of = [&](std::uint32_t user) { return std::ranges::count(slots, user, &ConnectionSlot::user); };
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].is_answered || slots[i].is_privileged || places_of(slots[i].user) < places_of(newcomer.user) + 2) continue;
    if (!chosen || places_of(slots[i].user) > places_of(slots[*chosen].user)) chosen = i;
  }
  return chosen;
}
}  // namespace

std::optional<std::size_t> slot_to_give_up(std::span<const ConnectionSlot> slots, const Caller& newcomer, Instant now, Duration yield) {
  const auto places_of = [&](std::uint32_t user) { return std::ranges::count(slots, user, &ConnectionSlot::user); };
  std::optional<std::size_t> chosen;
  std::tuple<std::int64_t, bool, Duration> best;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const ConnectionSlot& slot = slots[i];
    const Duration unused = now - slot.since;
    if (places_of(slot.user) < places_of(newcomer.user)) continue;
    if (slot.is_answered || (slot.is_privileged && !newcomer.is_privileged)) continue;
    if (slot.has_requested && unused < yield) continue;
    const std::tuple rank{places_of(slot.user), !slot.has_requested, unused};
    if (chosen && rank <= best) continue;
    chosen = i;
    best = rank;
  }
  return chosen ? chosen : slot_of_largest_user(slots, newcomer);
}

}  // namespace rondo
