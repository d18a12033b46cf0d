// See seats.h.
#include "admin/seats.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace rondo {

namespace {
/// Used when each connection has a request under way, such as `watch`. The user with the most places gives up the oldest to a user who has
/// at least two fewer.
std::optional<std::size_t> seat_of_largest_user(std::span<const AdminSeat> seats, const Caller& newcomer) {
  const auto places_of = [&](std::uint32_t user) { return std::ranges::count(seats, user, &AdminSeat::user); };
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < seats.size(); ++i) {
    if (!seats[i].is_answered || seats[i].is_privileged || places_of(seats[i].user) < places_of(newcomer.user) + 2) continue;
    if (!chosen || places_of(seats[i].user) > places_of(seats[*chosen].user)) chosen = i;
  }
  return chosen;
}
}  // namespace

std::optional<std::size_t> seat_to_give_up(std::span<const AdminSeat> seats, const Caller& newcomer, Instant now, Duration yield) {
  std::optional<std::size_t> chosen;
  std::tuple<std::int64_t, bool, Duration> best;
  for (std::size_t i = 0; i < seats.size(); ++i) {
    const AdminSeat& seat = seats[i];
    const Duration unused = now - seat.since;
    if (seat.is_answered || (seat.is_privileged && !newcomer.is_privileged)) continue;
    if (seat.has_requested && unused < yield) continue;
    const std::tuple rank{std::ranges::count(seats, seat.user, &AdminSeat::user), !seat.has_requested, unused};
    if (chosen && rank <= best) continue;
    chosen = i;
    best = rank;
  }
  return chosen ? chosen : seat_of_largest_user(seats, newcomer);
}

}  // namespace rondo
